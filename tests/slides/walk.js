// SPDX-License-Identifier: MIT
// Walks through all slides of a deck as a lecturer would, and writes what it finds into #findings. test_slides.sh puts
// it at the end of a copy of the deck. A line `wrong: …` is a fault; `slides: N` is how many were seen.
//
// - Nothing lies outside of a slide's margins; a text box has no more lines or columns than it shows.
// - Each image is there; each player steps through all of its rounds without anything to scroll.
// - Each slide but the first has a heading and speaker notes.
"use strict";
(async () => {
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
    }
    checkBoxes(section, number);
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
