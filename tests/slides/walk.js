// SPDX-License-Identifier: MIT
// Walks through all slides of a deck as a lecturer would, and writes what it finds into #findings. test_slides.sh puts
// it at the end of a copy of the deck. A line `wrong: …` is a fault; `slides: N` is how many were seen.
//
// - Nothing lies outside of a slide's margins; a text box has no more lines or columns than it shows.
// - Each image is there; each player steps through all of its rounds without anything to scroll.
// - Letters are large enough for the last row of a hall, in figures and players, too; a figure's letters are not cut, and
//   do not lie on each other.
// - Each slide but the first has a heading and speaker notes, and no slide has too many words.
"use strict";
(async () => {
  const LETTERS = 14, WORDS = 60; // the least height of letters, in pixels of a slide that is 1280 wide; the most words
  const findings = [], pause = () => new Promise(done => setTimeout(done, 20));
  const wrong = (slide, what) => findings.push(`wrong: slide ${slide}: ${what}`);
  const name = element => `${element.tagName.toLowerCase()} '${element.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}'`;

  function checkBoxes(section, number) {
    const scale = Reveal.getScale(), frame = section.getBoundingClientRect(), style = getComputedStyle(section);
    const right = 1280 - parseFloat(style.paddingRight) + 1, bottom = 720 - parseFloat(style.paddingBottom) + 1;
    for (const element of section.querySelectorAll("*")) {
      if (element.closest("aside.notes") || element.closest("svg")) continue;
      const box = element.getBoundingClientRect();
      const ends = {right: (box.right - frame.left) / scale, bottom: (box.bottom - frame.top) / scale};
      if (ends.right > right) return wrong(number, `${name(element)} ends ${Math.round(ends.right - right)} too far to the right`);
      if (ends.bottom > bottom) return wrong(number, `${name(element)} ends ${Math.round(ends.bottom - bottom)} too low`);
      if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && element.tagName !== "IFRAME")
        return wrong(number, `${name(element)} is ${element.scrollWidth} wide in ${element.clientWidth}`);
    }
  }

  // The SVG of an image, laid out as the browser lays out the image.
  function drawn(image, section) {
    const host = section.appendChild(document.createElement("div")), root = host.attachShadow({mode: "open"});
    const fit = Math.min(image.clientWidth / image.naturalWidth, image.clientHeight / image.naturalHeight);
    host.style.cssText = `position: absolute; left: 0; top: 0; width: ${fit * image.naturalWidth}px; height: ${fit * image.naturalHeight}px`;
    root.innerHTML = new TextDecoder().decode(Uint8Array.from(atob(image.src.split(",")[1]), letter => letter.charCodeAt(0)));
    const svg = root.querySelector("svg");
    svg.setAttribute("width", "100%");
    svg.setAttribute("height", "100%");
    return {host, svg};
  }

  function letterHeight(text) {
    const matrix = text.getScreenCTM(), style = getComputedStyle(text.querySelector("tspan") ?? text);
    return parseFloat(style.fontSize) * Math.hypot(matrix.a, matrix.b);
  }

  const over = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
                                  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

  const isBeyond = (box, frame, most) => Math.max(frame.left - box.left, box.right - frame.right,
                                                  frame.top - box.top, box.bottom - frame.bottom) > most;

  // Words of an SVG that its frame does not show at all are left out on purpose.
  function checkLetters(image, section, number) {
    const scale = Reveal.getScale(), {host, svg} = drawn(image, section), frame = svg.getBoundingClientRect();
    const box = text => text.getBoundingClientRect(), shown = [...svg.querySelectorAll("text")]
      .filter(text => text.textContent.trim() && over(box(text), frame) > 0);
    const small = shown.filter(text => letterHeight(text) / scale < LETTERS - 0.05), others = small.length - 1;
    if (small.length) wrong(number, `letters of ${name(small[0])}${others ? ` and ${others} more` : ""} are ` +
      `${(letterHeight(small[0]) / scale).toFixed(1)} high, less than ${LETTERS}`);
    shown.filter(text => isBeyond(box(text), frame, 2 * scale)).forEach(text => wrong(number, `${name(text)} is cut`));
    shown.forEach((a, i) => shown.slice(i + 1).filter(b => over(box(a), box(b)) > 3 * scale)
      .forEach(b => wrong(number, `${name(a)} and ${name(b)} lie on each other`)));
    host.remove();
  }

  function checkPlayerLetters(win, number, round) {
    const zoom = parseFloat(win.getComputedStyle(win.document.documentElement).zoom), small = new Set();
    for (const element of win.document.querySelectorAll("#player :not(.hidden, #now)")) {
      if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !element.getClientRects().length) continue;
      const height = element.ownerSVGElement ? letterHeight(element) : parseFloat(win.getComputedStyle(element).fontSize) * zoom;
      if (height < LETTERS) small.add(`letters of the player's ${element.tagName.toLowerCase()}s are ${height.toFixed(1)} high`);
    }
    small.forEach(what => wrong(number, `${what} in round ${round}`));
  }

  // Words are those that a listener reads: no figures, no code, and no single letters of formulas.
  function checkWords(section, number) {
    const copy = section.cloneNode(true);
    copy.querySelectorAll("aside.notes, h1, h2, pre, code, img, iframe, .source").forEach(element => element.remove());
    const words = copy.innerHTML.replace(/<[^>]*>/g, " ").match(/\p{L}{2,}(['’.-]\p{L}+)*/gu) ?? [];
    if (words.length > WORDS) wrong(number, `${words.length} words, more than ${WORDS}`);
  }

  function checkPlayer(frame, number) {
    const win = frame.contentWindow, doc = win.document, rounds = doc.querySelectorAll("#list > li").length;
    if (rounds === 0) return wrong(number, "a player without rounds");
    for (let n = 0; n <= rounds; n++) {
      const shown = doc.getElementById("round").textContent;
      if (shown !== `${n} of ${rounds}`) return wrong(number, `a player shows ${shown}, not ${n} of ${rounds}`);
      for (const id of ["controls", "left", "ranks"]) {
        const box = doc.getElementById(id).getBoundingClientRect(), root = doc.documentElement.getBoundingClientRect();
        if (box.bottom > win.innerHeight + 1 || box.right > win.innerWidth + 1 || root.width > win.innerWidth + 1)
          return wrong(number, `#${id} of the player ends at ${Math.round(box.right)}, ${Math.round(box.bottom)} of ` +
            `${win.innerWidth}, ${win.innerHeight} in round ${n}`);
      }
      if (n < 2 || n === rounds) checkPlayerLetters(win, number, n);
      doc.dispatchEvent(new win.KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true, cancelable: true}));
    }
  }

  async function checkSlide(section, number) {
    if (!section.querySelector("h1, h2")) wrong(number, "no heading");
    if (number > 1 && !section.querySelector("aside.notes")?.textContent.trim()) wrong(number, "no speaker notes");
    for (const image of section.querySelectorAll("img")) {
      await image.decode().catch(() => {});
      if (!image.naturalWidth) wrong(number, `a figure is missing: ${image.alt || image.src.slice(0, 60)}`);
      else if (image.clientWidth < 200 || image.clientHeight < 60) wrong(number, `a figure is ${image.clientWidth} x ${image.clientHeight}`);
      if (!image.alt) wrong(number, "a figure without words for who can not see it");
      if (image.naturalWidth && image.src.startsWith("data:image/svg+xml;base64,")) checkLetters(image, section, number);
    }
    checkBoxes(section, number);
    checkWords(section, number);
    section.querySelectorAll("iframe").forEach(frame => checkPlayer(frame, number));
  }

  try {
    while (document.readyState !== "complete" || !Reveal.isReady()) await pause();
    const slides = Reveal.getSlides();
    for (let i = 0; i < slides.length; i++) {
      Reveal.slide(i);
      await pause();
      if (Reveal.getCurrentSlide() !== slides[i]) wrong(i + 1, "it is not reached");
      await checkSlide(slides[i], i + 1);
    }
    findings.push(`slides: ${slides.length}`);
  } catch (error) {
    findings.push(`wrong: ${error}`);
  }
  const list = document.createElement("pre");
  list.id = "findings";
  list.textContent = "\n" + findings.join("\n") + "\n";
  document.body.append(list);
})();
