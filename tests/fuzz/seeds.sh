# SPDX-License-Identifier: MIT
# What random input is made from, for tests/fuzz/run.sh: `seeds NAME` fills the folder $seeds for fuzz_NAME. Files come
# from the kit; of what it has no files of, the words are here.

# put FILE TEXT: TEXT as printf(1) has it.
put() { printf "$2" >"$seeds/$1"; }

# Each line of standard input as an input of its own, called $1 and a number.
put_lines() { split --lines=1 --suffix-length=4 - "$seeds/$1-"; }

# Numbers with their units, as they stand in descriptions of networks.
seeds_units() { sed -n 's/^[a-z_]* *= *\([0-9.]*\) *\([^ ;]*\).*/\1\2/p' sim/nets/*.net | sort -u | put_lines value; }

seeds_net() {
    cp sim/nets/*.net "$seeds"
    cp "$build"/*.net "$seeds" 2>/dev/null # this machine's, if it was measured
}

seeds_model() { cp sim/models/*.model "$seeds"; }

seeds_lab() {
    local folder
    for folder in labs/[0-9]*; do
        cp "$folder/lab.conf" "$seeds/${folder##*/}"
    done
}

# The labs' own, and one with every kind of answer.
seeds_predictions() {
    local folder
    for folder in labs/[0-9]*; do
        cp "$folder/predict.txt" "$seeds/${folder##*/}"
    done
    put answers '[./commlab lab 07]\nafter messages/ring/8 = 6\nafter bytes_sent/ring/2097152 = 3 MiB\nafter time/{ring,tree,doubling}/8 = doubling < tree < ring\nratio time/ring/8 > 1 = no\nafter time/ring/8 = 5..10 us\nafter overlap = 80 %%\nafter beta = 8 GB/s\ncrossover time/by_hand time/ring = 2 KiB\nafter named = 3 rank\n'
}

seeds_progress() {
    put lines '# when\n2026-11-23T16:44:09Z  07   failed     case 3\n2026-11-23T16:45:00Z  p1   started\n2026-11-23T16:46:00Z  00   hinted     1\n'
}

# Lab 13's claims, and its form.
seeds_claims() { cp labs/13-audit/*claims.txt "$seeds"; }

seeds_conf() { seeds_net && seeds_lab; }

# Messages of zeros, of the kinds of core/job/store/message.h: each with as many bytes behind its header as it has.
seeds_message() {
    local kind=0 bytes
    for bytes in 16 32 44 32 40 24 12 36 24 24 0 8 0 12 54 16 0; do
        kind=$((kind + 1))
        put $kind "CL\\x3\\x$(printf %x $kind)\\x$(printf %x $bytes)\\0\\0\\0"
        head -c $bytes /dev/zero >>"$seeds/$kind"
    done
}

# A byte that says who hears, and what the store says: among it the answer to the very meeting of fuzz_client.c.
seeds_client() {
    local key='\xa1\x1\x7a\x31\xee\x5c\x3a\x6b' # clab_mix(7, 0)
    local numbers='\0\0\0\0\1\0\0\0\xff\xff\xff\xff\x8\0\0\0\0\0\0\0\3\0\0\0\x8\0\0\0'
    put answer 'dCL\3\x8\x3c\0\0\0'"$key${numbers}abcdefghijklmnopqrstuvwx"
    put gone 'aCL\3\xa\x18\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\x8\0\0\0\0\0\0\0\0\0\0\0'
    put end 'bCL\3\xe\xc\0\0\0\1\0\0\0\2\0\0\0\1\0\0\0'
}

# The job's store as it is, refusing, and with a byte changed; others that know nothing, and one that hangs up.
seeds_introduce() {
    put welcome '\0'
    put refused '\2'
    put changed '\0\x40\1'
    local challenge='\1CL\3\2\x20\0\0\0abcdefghijklmnopABCDEFGHIJKLMNOP'
    put false "${challenge}CL\\3\\4\\x20\\0\\0\\0abcdefghijklmnopabcdefghijklmnop"
    put closed "$challenge"
}

# Events of fuzz_store.c: guests 0 to 4 come and join as members, then post, tell, withdraw, leave and listen.
seeds_store() {
    local come='\0\1\2\3\4' join='\x00\0\0\x01\1\0\x02\2\0\x03\3\0\x04\4\0'
    put meet "\\1$come$join"'\x30\x10\0\x31\x10\0\x32\x10\0\x18\x19\x1a'
    put tell "\\1$come$join"'\x70\1\1\x18\x19\x1a\x1b\x1c\x20\0'
    put withdraw "\\0$come$join"'\x30\x10\7\x38\0\0\x18\x22\1'
}

seeds_pmi() {
    local hello='cmd=response_to_init pmi_version=1 rc=0\ncmd=maxes vallen_max=1024\ncmd=my_kvsname kvsname=k\n'
    put share "${hello}cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result rc=0 value=61622063\n"
    put other "${hello}cmd=barrier_out\ncmd=get_result rc=0 value=6162\ncmd=barrier_out\ncmd=get_result value=63\n"
}

seeds_host() {
    put_lines line <<'LINES'
node[01-03,7],x
a-b.c_d
host:29500
[fe80::1%eth0]:1
00ff10ab
LINES
}

seeds_environment() {
    local master='MASTER_ADDR=h\nMASTER_PORT=29500\n'
    put commlab "CLAB_JOB_FD=3\nRANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\n$master"
    put torchrun "TORCHELASTIC_RUN_ID=x\nTORCHELASTIC_USE_AGENT_STORE=True\nRANK=0\nWORLD_SIZE=2\n$master"
    put openmpi 'OMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_RANK=3\nPMIX_NAMESPACE=n\n'
    local size='OMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_RANK=3\n'
    put local "${size}OMPI_COMM_WORLD_LOCAL_RANK=1\nOMPI_COMM_WORLD_LOCAL_SIZE=2\n"
    put hydra 'PMI_SIZE=4\nPMI_RANK=3\nPMI_FD=5\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\n'
    local step='SLURM_STEP_ID=0\nSLURM_JOB_ID=7\nSLURM_STEP_NUM_TASKS=4\nSLURM_PROCID=1\nSLURM_LOCALID=1\n'
    put slurm "${step}SLURM_STEP_NUM_NODES=2\nSLURM_STEP_NODELIST=n[1-2]\n"
}

seeds_csv() {
    local file
    for file in labs/*/expected/*.csv; do
        head -n 60 "$file" >"$seeds/${file##*/}"
    done
    put cells 'a\0b,c\0"d"\0#e\0\0 f\n'
}

# Two processes, a slice in another, an arrow, and what the file says of itself.
seeds_trace() {
    local slice='{"ph":"X","pid":1,"tid":1,"name":"allreduce","ts":1,"dur":2,"args":{"bytes":8,"exposed":1}}'
    local inner='{"ph":"X","pid":1,"tid":1,"name":"stage 0","ts":1,"dur":1}'
    local arrow='{"ph":"s","pid":1,"tid":1,"name":"x","cat":"message","id":"0","ts":1},{"ph":"f","pid":2,"tid":1,"name":"x","id":"0","ts":2,"bp":"e"}'
    local name='{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"rank 0"}}'
    put one "{\"traceEvents\":[$name,$slice,$inner,$arrow],\"otherData\":{\"kind\":\"measured\"}}"
    put several "{\"traceEvents\":[$slice],\"otherData\":{\"files\":[{\"kind\":\"simulated\"},{\"file\":\"b\"}]}}"
}

seeds_accuracy() {
    local names=collective,algorithm,backend,ranks,bytes,count,type,op,root,inplace,mode,usec,usec_low,usec_high,calls
    names+=,line_nsec,fresh_psB,call_nsec
    put rows "$names\nallreduce,ring,shm,4,1024,256,float,sum,-1,0,throughput,10,9,11,50,280,40,300\n"
    put rooted "$names\nbroadcast,tree,shm,2,64,16,float,none,0,1,throughput,1.5,1,2,50,,,\nbarrier,tree,shm,2,0,0,none,none,-1,0,throughput,2,2,2,9,,,\n"
}

seeds_rows() {
    put rows 'time/ring/64,s,4,9,1.5e-06,1e-06,2e-06\nmessages/ring/64,1,4,1,6,6,6\niteration/4,s,2,1,0.1,0.1,0.1\n'
}

seeds_nccl() {
    put graph 'x NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 1\n'
    put table 'Algorithm | Tree | Ring |\nAllReduce | 6.8/ 1.2 | 1/2 | 3/4 | 5/6 | 7/8 | 9/1 |\n'
    put old 'Latency/AlgBw | Tree/ LL | CollNet/Simple |\nAllReduce | 6.8/ 1.2 | 1/2 |\nPattern 4, crossNic 0, nChannels 2, speed 21/12, nvlink 1, type 2, sameChannels 1\n'
    put choices ' CPU/0 (1/2/-1)\n nranks 4 \n 8 Bytes -> Algo 0 proto 0 time 2\nAllGather: 64 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..1}\n'
}

seeds_choices() {
    put rows '# c\nallreduce,0,65535,tree,ll,-1,1,8,-1,-1,1.2\nreduce,8K,-1,ring,ll128,4,2,16,1,1\nbroadcast,0,9,nvls,simple,-1\n'
    put times 'collective,size_bytes,algorithm,protocol,channels,nodes,ranks,usec\nallreduce,64,tree,ll,2,3,24,17.5\nallreduce,64,own,,,3,24,18\n'
    put tests '# Collective test starting: all_reduce_perf\n#  Rank  0 Group  0 Pid  7 on h device  0\n#  Rank  1 Group  0 Pid  7 on i device  1\n'
    printf '%s\n' '# size count type redop root time algbw busbw #wrong time algbw busbw #wrong' ' 64 16 float sum -1 5.5 0.01 0.01 0 5.5 0.01 0.01 N/A' \
        'NCCL_ALGO set by environment to Ring' 'NCCL_PROTO set by environment to LL' ' 128 16 float 6.5 0.02 0.02 0 6.5 0.02 0.02 0' >>"$seeds/tests"
    put first '#   Rank  0 on h device  0\n# bytes N type root time algbw busbw res\n 64 16 float 0 0.5 0.01 0.01 1e-06\n Out of bounds values : 0 OK\n'
    put ours '# commlab bench: backend shm, algorithm ring, mode local\n#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  timestamp\n'
}

seeds_goal() {
    put ring 'num_ranks 2\n\nrank 0 {\nl1: send 8b to 1 tag 0\nl2: recv 8b from 1 tag 0\nl3: calc 5\nl3 requires l2\n}\n'
    local rank='rank 1 {\nl1: send 8b to 0 tag 0\nl2: recv 8b from 0 tag 0\nl3: calc 0\nl3 requires l1\nl3 irequires l2\n}\n'
    cat "$seeds/ring" >"$seeds/pair" && printf "$rank" >>"$seeds/pair"
    put any 'num_ranks 3\nrank 2 {\nl2: recv 8b from -1 tag -1\nl2 irequires l1\nl1: calc 7 cpu 1 nic 2\n}\nrank 0 {\n}\n'
    printf 'rank 1 {\na: send 8b to 2 tag 4 cpu 1\n}\n' >>"$seeds/any"
    put binary '\177\20\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0'
    printf '\0\0\0\0\3\0\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0' >>"$seeds/binary"
    printf '\1\0\0\0\3\0\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0' >>"$seeds/binary"
    printf '\1\0\0\0' >>"$seeds/binary"
    put tree '/* two */ num_ranks 3\nrank 0 {\nsend 1b to 1\nsend 1b to 2 cpu 0 nic 0\n}\nrank 1 { recv 1b from 0\n}\nrank 2 {\nl1: recv 1b from 0\n}\n'
}

seeds_msccl() {
    local step='srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"' \
        algo='nchunksperloop="1" ngpus="2" coll="allreduce"'
    local gpu='i_chunks="1" o_chunks="1" s_chunks="0"' rank
    for rank in 0 1; do
        put gpu$rank "<gpu id=\"$rank\" $gpu><tb id=\"0\" send=\"$((1 - rank))\" recv=\"$((1 - rank))\" chan=\"0\">"
        printf '<step s="0" type="s" %s depid="-1" deps="-1" hasdep="0"/>' "$step" >>"$seeds/gpu$rank"
        printf '<step s="1" type="rrc" %s depid="-1" deps="-1" hasdep="0"/></tb></gpu>' "$step" >>"$seeds/gpu$rank"
    done
    {
        printf '<algo name="x" proto="Simple" %s inplace="1">' "$algo" && cat "$seeds/gpu0" "$seeds/gpu1" &&
            echo '</algo>'
    } >"$seeds/exchange"
    sed 's/s="\([01]\)"/& stage="0" at="\1"/' "$seeds/exchange" >"$seeds/staged"
    cp tests/fixtures/msccl/*.xml tests/fixtures/msccl/wrong/*.xml "$seeds"
}

# Eight bytes of numbers, then names.
seeds_flags() {
    put names '\0\0\3\7\1\4\0\2ring,tree,auto'
    put all '\1\1\3\7\1\4\1\2all'
    put_lines word <<'LINES'
ring,tree
both
64K
0.3
50ms
18446744073709551615
LINES
}

seeds_forward() {
    put pieces '\x80\6one\ntw\1\5three\x80\2o\n\x81\1\n\2\xc8no end'
    put long "\\x80\\xc8$(printf 'x%.0s' {1..200})"
}

seeds_stat() { put_lines line <<<'12 (a) b) S 1 2 3'; }

seeds() {
    seeds_"$1"
    cp -r "tests/fuzz/corpus/$1/." "$seeds" 2>/dev/null # what has gone wrong once
    return 0
}

seeds_explain() {
    local file
    for file in tests/fixtures/logs/*.log; do
        head -c 4000 "$file" >"$seeds/${file##*/}"
    done
}

seeds_known() {
    put one '[x]\nkind = slow\nmatch = a*b || port\nunless = no\nseen = y\nwhat = w\nwhy = v\ndo = d || e\nsource = s\n'
}
