-- SPDX-License-Identifier: MIT
-- pandoc's filter of a deck: makes each figure anew, from a schedule, a described network or committed data.
--
--   ![what it shows](show:ring --ranks 4)               drawn by `commlab show ring --ranks 4 --format slide`
--   ![what it plays](play:ring --ranks 4)               the page of `commlab show … --format html`, inside the slide;
--                                                       {zoom="1"} makes it smaller: 1.3 fits 4 ranks
--   ![what it shows](plot:labs/NN-name/expected/X.csv)  that file, drawn by its lab's plot.gp
--   ![what it shows](plot:FILE.csv SCRIPT.gp)           the same by another script
--   ![…](…){part="0 60 1000 400"}                       of a figure only X Y WIDTH HEIGHT, in its own units
--   ``` {run="sim allreduce …"}                         what this command prints. lines="2-4,8": only these lines;
--                                                       columns="58": only so much of each; room="530": its letters are
--                                                       as large as fits so many pixels, and at most 26
--
-- - Only what is the same on every machine may run: schedules, proofs, described networks, published figures.
-- - A plot names its file, machine and command below itself.
-- - Metadata: commlab (the program), scratch (a folder for gnuplot). A mistake ends pandoc with one line.

local commlab, scratch
local plots = 0
local allowed = {show = true, verify = true, sim = true, nets = true, audit = true, explain = true, nccl = true}

local function fail(text)
  io.stderr:write("slides: ", PANDOC_STATE.input_files[1] or "", ": ", text, "\n")
  os.exit(1)
end

-- Words of a target: pandoc writes spaces as %20.
local function words_of(text)
  local words = {}
  for word in text:gsub("%%20", " "):gsub("%%25", "%%"):gmatch("%S+") do words[#words + 1] = word end
  return words
end

local function run(program, words)
  local ok, output = pcall(pandoc.pipe, program, words, "")
  if not ok then
    fail("`" .. program:gsub(".*/", "") .. " " .. table.concat(words, " ") .. "` failed: "
         .. tostring(output.output or output):gsub("\n.*", ""))
  end
  return output
end

local function run_commlab(words)
  if not allowed[words[1]] then
    fail("`commlab " .. (words[1] or "") .. "` may not run in a deck: only show, verify, sim, nets, audit, explain, nccl")
  end
  for _, word in ipairs(words) do
    if word == "machine" then fail("the network `machine` is another on every machine: name a described one") end
  end
  return run(commlab, words)
end

local function read(path)
  local file = io.open(path, "r")
  if not file then fail("there is no " .. path) end
  local text = file:read("a")
  file:close()
  return text
end

local function base64(text)
  local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    local four = ""
    for k = 3, 0, -1 do
      local index = math.floor(n / 64 ^ k) % 64 + 1
      four = four .. letters:sub(index, index)
    end
    out[#out + 1] = b == nil and four:sub(1, 2) .. "==" or c == nil and four:sub(1, 3) .. "=" or four
  end
  return table.concat(out)
end

local function escape(text)
  return (text:gsub("&", "&amp;"):gsub('"', "&quot;"):gsub("<", "&lt;"))
end

local function html(text) return pandoc.RawInline("html", text) end

-- The part "X Y WIDTH HEIGHT" of an SVG text, in its own units.
local function cut(svg, part)
  if not part:match("^%-?%d+ %d+ %d+ %d+$") then fail("part=\"" .. part .. "\" is not four numbers: X Y WIDTH HEIGHT") end
  local width, height = part:match("(%d+) (%d+)$")
  local head, rest = svg:match("^(.-<svg.->)(.*)$")
  head = head:gsub('viewBox="[^"]*"', 'viewBox="' .. part .. '"'):gsub('([%s])width="%d+"', '%1width="' .. width .. '"')
         :gsub('([%s])height="%d+"', '%1height="' .. height .. '"')
  return head .. rest
end

-- An image of an SVG text. Its classes, width, height and part are those of the markdown.
local function picture(image, svg)
  local alt = pandoc.utils.stringify(image.caption)
  if alt == "" then fail("a figure has no text between its brackets: say what it shows") end
  local style = ""
  if image.attributes.part then svg = cut(svg, image.attributes.part) end
  for _, name in ipairs({"width", "height"}) do
    local value = image.attributes[name]
    if value then style = style .. ("%s: %s; max-%s: none; "):format(name, value, name) end
  end
  return html(('<img class="figure %s" alt="%s" style="%s" src="data:image/svg+xml;base64,%s">')
              :format(table.concat(image.classes, " "), escape(alt), style, base64(svg)))
end

local function show(image, words)
  table.insert(words, 1, "show")
  for _, word in ipairs({"--format", "slide"}) do words[#words + 1] = word end
  return picture(image, run_commlab(words))
end

-- In a slide the player shows its controls, the picture and the ranks: nothing to scroll, and larger letters. A rank's
-- name stands beside its chunks.
local player_style = [[
<style>
html { zoom: ZOOM; overflow: hidden; }
dl div:nth-child(2), #ranks h2 span { display: none; }
main { padding: 0 0.8rem !important; max-width: none !important; }
main > h1, main > p, main > h2, main > ol, details { display: none; }
#controls { display: flex !important; gap: 1.5rem !important; align-items: center; padding: 0.3rem 0 !important; }
#controls div[role=group] { flex: 0 0 23rem !important; }
#controls dl { display: flex !important; margin: 0 !important; font-size: 1rem !important; }
#stage { grid-template-columns: 22rem minmax(0, 1fr) !important; margin: 0.5rem 0 0 !important; }
#left { display: block !important; }
#picture { max-width: 22rem !important; }
#picture text { font-size: 19px !important; }
#picture .chip > * { scale: 1.3; }
#picture .chip text { font-size: 11px !important; }
#now { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
#ranks { align-content: space-around !important; }
#ranks section { display: grid; grid-template-columns: 4rem minmax(0, 1fr); align-items: center; }
#ranks h2 { font-size: 15px !important; margin: 0 !important; }
.chunks { grid-template-columns: repeat(var(--wide), minmax(0, 8rem)) !important; }
.chunks li { font-size: 15px !important; }
.bars { height: 14px !important; }
</style>
]]

local function play(image, words)
  table.insert(words, 1, "show")
  for _, word in ipairs({"--format", "html"}) do words[#words + 1] = word end
  local alt = pandoc.utils.stringify(image.caption)
  if alt == "" then fail("a player has no text between its brackets: say what it plays") end
  local style = player_style:gsub("ZOOM", image.attributes.zoom or "1.3")
  local page = run_commlab(words):gsub("</head>", function() return style .. "</head>" end, 1)
  return html(('<iframe class="player" title="%s" srcdoc="%s"></iframe>'):format(escape(alt), escape(page)))
end

-- The line `# NAME: TEXT` of a results file.
local function header(text, name) return text:match("\n# " .. name .. ": ([^\n]*)") end

local function plot(image, words)
  local csv = words[1]
  local text = "\n" .. read(csv)
  local folder = csv:match("^(labs/[^/]+)/")
  local script = words[2] or folder and folder .. "/plot.gp" or fail("which script draws " .. csv .. "? plot:FILE.csv SCRIPT.gp")
  plots = plots + 1
  local out = scratch .. "/plot-" .. plots
  run("gnuplot", {"-e", ("csv='%s'; out='%s'; png_scale=0.1; letters=%s; is_bare=1"):format(csv, out, image.attributes.letters or "16"), script})
  local machine, command = header(text, "machine"), header(text, "command")
  if not machine or not command then fail(csv .. " does not say its machine and its command (`# machine:`, `# command:`)") end
  local warning = header(text, "warning")
  local source = ("Data: %s · %s · %s%s"):format(csv, (machine:gsub("^none: ", "")), command,
                                                 warning and " · The file warns: " .. warning or "")
  return {picture(image, read(out .. ".svg")), html('<span class="source">' .. escape(source) .. "</span>")}
end

local kinds = {show = show, play = play, plot = plot}

local function figure(image)
  local kind, rest = image.src:match("^(%a+):(.*)$")
  if not kinds[kind] then
    fail("no figure by " .. image.src .. ": a figure is show:…, play:… or plot:…")
  end
  return kinds[kind](image, words_of(rest))
end

-- The lines of a text that "2-4,8" names.
local function lines_of(text, ranges)
  local all, kept = {}, {}
  for line in text:gmatch("([^\n]*)\n") do all[#all + 1] = line end
  for range in ranges:gmatch("[^,]+") do
    local first, last = range:match("^(%d+)%-(%d+)$")
    first = first or range:match("^%d+$") or fail("lines=\"" .. ranges .. "\" is no list such as 2-4,8")
    for i = tonumber(first), tonumber(last or first) do
      kept[#kept + 1] = all[i] or fail("`lines` names " .. i .. ", and there are only " .. #all .. " lines")
    end
  end
  return table.concat(kept, "\n")
end

-- The first `count` characters of each line of a text.
local function columns_of(text, count)
  if not tonumber(count) then fail("columns=\"" .. count .. "\" is no number") end
  local kept = {}
  for line in (text:gsub("\n+$", "") .. "\n"):gmatch("([^\n]*)\n") do
    local ends = utf8.offset(line, tonumber(count) + 1)
    kept[#kept + 1] = ends and line:sub(1, ends - 1):gsub("%s+$", "") or line
  end
  return table.concat(kept, "\n")
end

-- The command as one types it, in lines of at most `width` characters.
local function typed(words, width)
  local text, length = "$ ./commlab", 11
  for _, word in ipairs(words) do
    if length + #word + 3 > width then text, length = text .. " \\\n   ", 3 end
    text, length = text .. " " .. word, length + #word + 1
  end
  return text
end

-- The height of letters, in pixels, at which the widest line of a text fits `room` pixels: a letter is 0.602 of it wide.
local function letters_for(text, room)
  local widest = 1
  for line in text:gmatch("[^\n]+") do widest = math.max(widest, utf8.len(line)) end
  return math.min(26, math.floor(room / (0.602 * widest)))
end

local function code(block)
  local command = block.attributes.run
  if not command then return nil end
  local output, width = run_commlab(words_of(command)), tonumber(block.attributes.columns) or 90
  if block.attributes.lines then output = lines_of(output, block.attributes.lines) end
  if block.attributes.columns then output = columns_of(output, block.attributes.columns) end
  local text = typed(words_of(command), width) .. "\n" .. output:gsub("\n+$", "")
  local size = letters_for(text, tonumber(block.attributes.room) or 1110)
  return pandoc.CodeBlock(text, pandoc.Attr("", block.classes, {style = "font-size: " .. size .. "px"}))
end

-- A number and its unit stay on one line.
local units = {}
for unit in ("% s ms µs ns B KiB MiB GiB kB KB MB GB GB/s Gb/s Gbit/s MB/s ns/B s/GB"):gmatch("%S+") do units[unit] = true end
local function keep_together(inlines)
  for i = 2, #inlines - 1 do
    local before, after = inlines[i - 1], inlines[i + 1]
    if inlines[i].t == "Space" and before.t == "Str" and after.t == "Str" and before.text:match("%d$")
       and units[(after.text:gsub("[.,;:?!)]+$", ""))] then
      inlines[i] = pandoc.Str("\u{a0}")
    end
  end
  return inlines
end

-- A comment, such as that of the license, begins no slide.
local function comment(block)
  if block.format == "html" and block.text:match("^<!%-%-") then return {} end
end

local function settings(meta)
  commlab = pandoc.utils.stringify(meta.commlab)
  scratch = pandoc.utils.stringify(meta.scratch)
end

return {{Meta = settings}, {Image = figure, CodeBlock = code, RawBlock = comment, Inlines = keep_together}}
