// Looks at the page as a person would: what is cut, what lies over something else, what cannot be seen on its ground.
// Returns a list of complaints. `wide`: whether no part of the page may need scrolling.
(wide) => {
  const complaints = [];
  const say = (what, element) => complaints.push(`${what}: ${(element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 80)}`);
  const visible = (element) => element.checkVisibility() && element.getClientRects().length > 0;

  if (document.documentElement.scrollWidth > window.innerWidth) {
    complaints.push(`the page is ${document.documentElement.scrollWidth} pixels wide, and the window ${window.innerWidth}`);
  }
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg") || !visible(element)) continue;
    const style = getComputedStyle(element);
    const cut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
    if (cut && ["hidden", "clip"].includes(style.overflowX)) say("cut", element);
    if (cut && wide && ["auto", "scroll"].includes(style.overflowX)) say("needs scrolling", element);
    if (style.textOverflow === "ellipsis") say("may be cut", element);
  }

  // Texts outside figures: no two overlap.
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("svg, style") || !visible(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) boxes.push([box, node]);
  }
  const overlap = (a, b, slack) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
  boxes.sort((a, b) => a[0].top - b[0].top);
  boxes.forEach(([box, node], place) => {
    for (let other = place + 1; other < boxes.length && boxes[other][0].top < box.bottom; other++) {
      if (overlap(box, boxes[other][0], 3)) complaints.push(`overlap: ${node.data.trim().slice(0, 50)} | ${boxes[other][1].data.trim().slice(0, 50)}`);
    }
  });

  // Figures.
  const channel = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([red, green, blue]) => 0.2126 * channel(red / 255) + 0.7152 * channel(green / 255) + 0.0722 * channel(blue / 255);
  const contrast = (colour, ground) => {
    const [dark, light] = [luminance(numbers(colour)), luminance(numbers(ground))].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  for (const figure of document.querySelectorAll("svg")) {
    if (!visible(figure)) continue;
    const whole = figure.getBoundingClientRect();
    const behind = ground(figure.parentElement);
    const texts = [...figure.querySelectorAll("text")].filter((text) => text.textContent.trim());
    texts.forEach((text, place) => {
      const box = text.getBoundingClientRect();
      if (box.left < whole.left - 1 || box.right > whole.right + 1 || box.top < whole.top - 1 || box.bottom > whole.bottom + 1) say("outside its figure", text);
      if (contrast(getComputedStyle(text).fill, behind) < 4) say("hard to read", text);
      for (const other of texts.slice(place + 1)) {
        if (overlap(box, other.getBoundingClientRect(), 2)) complaints.push(`overlap in a figure: ${text.textContent.trim()} | ${other.textContent.trim()}`);
      }
    });
    const legend = figure.querySelector('g[id^="legend"]');
    const drawn = figure.querySelectorAll('g[id^="axes"] > g[id^="line2d"] path, g[id^="axes"] > g[id^="patch"] path, g[id^="axes"] > g[id^="FillBetween"] path, g[id^="axes"] > g[id^="fill"] path');
    for (const path of drawn) {
      if (path.closest("defs")) continue;
      const style = getComputedStyle(path);
      const colour = style.fill !== "none" ? style.fill : style.stroke;
      const opacity = Number(style.fill !== "none" ? style.fillOpacity : style.strokeOpacity);
      if (colour === "none" || opacity < 0.5) continue;
      if (contrast(colour, behind) < 1.8) complaints.push(`invisible: ${colour} on ${behind} in ${figure.parentElement.parentElement.textContent.trim().slice(0, 40)}`);
      if (legend && overlap(legend.getBoundingClientRect(), path.getBoundingClientRect(), 3) && path.closest('g[id^="line2d"]')) say("a legend lies over curves", legend);
    }
    for (const axis of ["matplotlib.axis_1", "matplotlib.axis_2"]) {
      const labels = [...figure.querySelectorAll(`g[id="${axis}"] text`)];
      if (figure.querySelector(`g[id="${axis}"]`) && labels.length === 0) complaints.push(`${axis} has no labels in ${figure.parentElement.textContent.trim().slice(0, 40)}`);
    }
  }
  return [...new Set(complaints)];
}
