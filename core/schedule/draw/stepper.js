// SPDX-License-Identifier: MIT
// Plays the rounds that show wrote into the page. It counts nothing: all numbers and words are in the data and the list.
//
// - `shown` is how many rounds have ended. 0: the start.
// - show(n) makes the page what it is after n rounds: any state can follow any other.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const list of [data.stages, data.counts, data.buffers, data.wants, data.changes, data.messages]) list.pop();
  for (const list of [...data.stages, ...data.wants]) list.pop();
  const $ = id => document.getElementById(id);
  const P = data.ranks, hues = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#aaaaaa"];
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let shown = 0, timer = 0;

  const make = (parent, name, attributes = {}, text = "") => {
    const element = document.createElement(name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.textContent = text;
    return parent.appendChild(element);
  };
  const draw = (parent, name, attributes, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.textContent = text;
    return parent.appendChild(element);
  };

  // ---- who contributed ----

  const members = set => Array.from({length: P}, (_, rank) => rank).filter(rank => set >> rank & 1);

  // "0-2,5"
  function ranges(ranks) {
    const out = [];
    for (const rank of ranks) {
      const last = out[out.length - 1];
      if (last && last[1] === rank - 1) last[1] = rank;
      else out.push([rank, rank]);
    }
    return out.map(([a, b]) => a === b ? `${a}` : b === a + 1 ? `${a},${b}` : `${a}-${b}`).join();
  }

  function short(cell) {
    const who = members(cell.set), text = ranges(who);
    if (!who.length) return "–";
    if (data.collective === "alltoall") return `${text}→${cell.block}`;
    if (who.length === P && P > 1 && data.complete > 1) return "all";
    return text.length <= 4 ? text : `${who.length}/${P}`;
  }

  function long(cell) {
    const who = members(cell.set), to = data.collective === "alltoall" ? `, for rank ${cell.block}` : "";
    if (!who.length) return "nothing";
    if (data.collective === "barrier") return `knows that rank${who.length > 1 ? "s" : ""} ${who.join(", ")} came`;
    return `data of rank${who.length > 1 ? "s" : ""} ${who.join(", ")}${to}`;
  }

  // ---- the ranks' buffers, made once ----

  const heads = [], cells = []; // by rank; by rank and chunk

  function columns(n, most) {
    return Math.ceil(n / Math.ceil(n / most));
  }

  function makeCell(list, label, rank, number) {
    const item = make(list, "li");
    make(item, "span", {class: "label"}, label || "arrived");
    const who = make(item, "span", {class: "who"}), words = make(item, "span", {class: "hidden"});
    const bars = make(item, "div", {class: "bars", "aria-hidden": "true"});
    for (let i = 0; i < P; i++)
      make(bars, "i", {class: i < 8 ? "" : "hatched", style: `--hue: ${hues[i % 8]}`});
    cells[rank].push({item, who, words, bars: [...bars.children], wanted: data.wants[rank].includes(number)});
  }

  function makeRank(rank) {
    const section = make($("ranks"), "section", {"aria-label": `rank ${rank}`});
    const head = make(section, "h2", {}, `rank ${rank} `);
    heads.push(make(head, "span"));
    cells.push([]);
    let number = 0;
    for (const [name, ...labels] of data.buffers) {
      if (data.buffers.length > 1) make(section, "p", {class: "buffer"}, name);
      const list = make(section, "ul", {class: `chunks ${name}`, "aria-label": name});
      list.style.setProperty("--narrow", columns(labels.length, data.collective === "alltoall" && P > 8 ? 6 : 8)); // "10→10" is long
      list.style.setProperty("--wide", columns(labels.length, 16));
      for (const label of labels) makeCell(list, label, rank, number++);
    }
  }

  // What all chunks hold after n rounds.
  function valuesAfter(n) {
    const values = cells.map(list => list.map(() => ({set: 0, done: 0, block: -1, time: -1})));
    for (const [time, rank, number, set, done, block] of data.changes)
      if (time <= n) values[rank][number] = {set, done, block, time};
    return values;
  }

  function showBuffers(n) {
    const values = valuesAfter(n);
    for (let rank = 0; rank < P; rank++) {
      const ended = data.stages[rank].filter(end => end <= n).length, all = data.stages[rank].length;
      heads[rank].textContent = `stages: ${ended} of ${all}`;
      cells[rank].forEach((cell, number) => {
        const value = values[rank][number], members = value.set, done = value.done && cell.wanted;
        cell.who.textContent = short(value) + (done ? " ✓" : "");
        cell.words.textContent = `: ${long(value)}${done ? ", complete" : ""}`;
        cell.item.classList.toggle("none", !members);
        cell.item.classList.toggle("new", n > 0 && value.time === n);
        cell.bars.forEach((bar, i) => bar.classList.toggle("on", Boolean(members >> i & 1)));
      });
    }
  }

  // ---- the picture ----

  const radius = P > 8 ? 13 : 18;
  if (P <= 2) $("picture").setAttribute("viewBox", "0 120 340 100");
  const place = rank => {
    if (P === 1) return {x: 170, y: 170};
    const angle = 2 * Math.PI * rank / P - Math.PI / 2 - (P === 2 ? Math.PI / 2 : 0);
    return {x: 170 + 145 * Math.cos(angle), y: 170 + 145 * Math.sin(angle)};
  };

  function makeNode(rank) {
    const {x, y} = place(rank);
    draw($("picture"), "circle", {cx: x, cy: y, r: radius, fill: "#fff", stroke: "#1a1a1a", "stroke-width": 7});
    draw($("picture"), "circle", {cx: x, cy: y, r: radius, fill: "#fff", stroke: hues[rank % 8], "stroke-width": 5,
      "stroke-dasharray": rank < 8 ? "none" : "4 2"});
    draw($("picture"), "text", {x, y, class: P > 8 ? "many" : ""}, `${rank}`);
  }

  // From edge to edge of two ranks, beside the message that goes the other way.
  function wayOf(src, dst) {
    const a = place(src), b = place(dst), length = Math.hypot(b.x - a.x, b.y - a.y);
    const ux = (b.x - a.x) / length, uy = (b.y - a.y) / length, side = P > 8 ? 4 : 7, edge = radius + 5;
    return {x1: a.x + ux * edge - uy * side, y1: a.y + uy * edge + ux * side,
      x2: b.x - ux * edge - uy * side, y2: b.y - uy * edge + ux * side, ux, uy};
  }

  function drawArrow(group, way, adds) {
    const {x1, y1, x2, y2, ux, uy} = way, kind = adds ? "adds" : "";
    draw(group, "path", {class: kind, d: `M${x1} ${y1}L${x2 - 6 * ux} ${y2 - 6 * uy}`});
    const left = `${x2 - 9 * ux + 4.5 * uy} ${y2 - 9 * uy - 4.5 * ux}`, right = `${x2 - 9 * ux - 4.5 * uy} ${y2 - 9 * uy + 4.5 * ux}`;
    draw(group, "path", {class: `head ${kind}`, d: `M${x2} ${y2}L${left}L${right}z`, style: "stroke-dasharray: none"});
  }

  // A message's label, and below it a bar per contributor.
  function drawChip(group, label, set, adds) {
    const chip = draw(group, "g", {class: "chip"}), text = (adds ? "+" : "") + (label || "signal");
    const width = Math.max(7 * text.length + 6, P > 8 ? 30 : 3 * P + 4);
    draw(chip, "rect", {class: "box", x: -width / 2, y: -12, width, height: 24, rx: 3});
    draw(chip, "text", {x: 0, y: -4}, text);
    const bar = (width - 6) / P;
    for (const rank of members(set)) {
      draw(chip, "rect", {x: 3 - width / 2 + rank * bar, y: 3, width: bar - 0.6, height: 6.5, fill: hues[rank % 8],
        stroke: "#1a1a1a", "stroke-width": P > 8 ? 0.2 : 0.6});
    }
    return chip;
  }

  // How far along its way a message has come when round n ends. It rests before the arrow's head, so that that is seen,
  // and not where the ways of many cross.
  function share({x1, y1, x2, y2}, leaves, lands, n) {
    const rest = Math.max(0.35, Math.min(0.8, 1 - 32 / Math.hypot(x2 - x1, y2 - y1)));
    return Math.min(1, (n - leaves) / (lands - leaves)) * rest;
  }

  // Where the chip is on its way; beside it, toward the middle, if it would hide the arrow.
  function chipAt({x1, y1, x2, y2}, t) {
    const x = x1 + (x2 - x1) * t, y = y1 + (y2 - y1) * t, middle = Math.hypot(x - 170, y - 170);
    const aside = Math.hypot(x2 - x1, y2 - y1) < 45 ? 24 / middle : 0;
    return `translate(${x + (170 - x) * aside}px, ${y + (170 - y) * aside}px)`;
  }

  function showMessages(n, moves) {
    $("picture").querySelector(".messages")?.remove();
    const group = draw($("picture"), "g", {class: "messages"}), before = valuesAfter(n - 1), chips = [];
    for (const [leaves, lands, src, dst, adds, label, first] of data.messages)
      if (leaves < n && lands >= n) {
        const way = wayOf(src, dst);
        drawArrow(group, way, adds);
        chips.push([way, share(way, leaves, lands, n - 1), share(way, leaves, lands, n), label, before[src][first].set, adds]);
      }
    for (const [way, from, to, label, set, adds] of chips) {
      const at = t => chipAt(way, t);
      const chip = drawChip(group, label, set, adds);
      chip.style.transform = at(to);
      if (moves && !still.matches)
        chip.animate([{transform: at(from)}, {transform: at(to)}], {duration: 700, easing: "ease-in-out"});
    }
  }

  // ---- words and numbers ----

  function wordsOf(n) {
    if (n === 0) return data.rounds ? "Start: no message has been sent." : "One rank alone: there is nothing to send.";
    const items = [...$(`round-${n}`).querySelectorAll("li")].map(item => item.textContent), most = 8;
    const more = items.length > most ? ` And ${items.length - most} more messages: see the list.` : "";
    const end = n < data.rounds || !data.wanted ? ""
      : data.counts[n][4] === data.wanted ? ` This is the end: every rank has what ${data.collective} promises.`
        : " This is the end.";
    return `Round ${n}. ${items.slice(0, most).join(" ")}${more}${end}`;
  }

  function showCounts(n) {
    const now = data.counts[n], all = data.counts[data.rounds];
    $("round").textContent = `${n} of ${data.rounds}`;
    $("stages").textContent = `${now[0]} of ${all[0]}`;
    $("messages").textContent = `${now[1]} of ${all[1]}`;
    const [size, unit] = now[3].split(" ");
    $("bytes").textContent = `${all[3].endsWith(` ${unit}`) ? size : now[3]} of ${all[3]}`; // "3 of 6 MiB"
    $("now").textContent = wordsOf(n);
    $("list").querySelector("[aria-current]")?.removeAttribute("aria-current");
    $(`round-${n}`)?.setAttribute("aria-current", "step");
    // Not `disabled`: a button that has the keyboard's focus would lose it.
    for (const [id, off] of [["first", n === 0], ["back", n === 0], ["next", n === data.rounds], ["last", n === data.rounds]])
      $(id).setAttribute("aria-disabled", off);
  }

  function show(n) {
    const to = Math.max(0, Math.min(data.rounds, n)), moves = to === shown + 1;
    shown = to;
    showCounts(to);
    showBuffers(to);
    showMessages(to, moves);
  }

  // ---- buttons and keys ----

  function stop() {
    clearInterval(timer);
    timer = 0;
    $("play").textContent = "Play";
  }

  function playOne() {
    show(shown === data.rounds ? 0 : shown + 1);
    if (shown === data.rounds) stop();
  }

  function play() {
    if (timer) return stop();
    $("play").textContent = "Pause";
    timer = setInterval(playOne, 1500);
    playOne();
  }

  const go = {first: () => 0, back: () => shown - 1, next: () => shown + 1, last: () => data.rounds};
  const keys = {Home: "first", ArrowLeft: "back", ArrowRight: "next", End: "last"};
  const step = name => { stop(); show(go[name]()); };
  for (const name in go) $(name).addEventListener("click", () => step(name));
  $("play").addEventListener("click", play);
  document.addEventListener("keydown", event => {
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    step(keys[event.key]);
  });

  $("ranks").classList.toggle("many", P > 8);
  $("ranks").classList.toggle("two", P > 4 && data.buffers.length === 1 && data.buffers[0].length < 4);
  $("ranks").style.setProperty("--rows", Math.ceil(P / 2));
  for (let rank = 0; rank < P; rank++) makeRank(rank);
  for (let rank = 0; rank < P; rank++) makeNode(rank);
  $("player").hidden = false;
  const open = () => show(parseInt(location.hash.slice(1), 10) || 0); // page.html#3 opens at round 3
  addEventListener("hashchange", open);
  open();
})();
