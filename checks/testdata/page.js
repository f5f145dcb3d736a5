// What the check of pages looks at in a browser. Every function gives plain data.

// channels reads a computed colour: red, green, blue and alpha.
function channels(text) {
  const numbers = text.match(/[\d.]+/g).map(Number);
  return numbers.length === 3 ? [...numbers, 1] : numbers;
}

function over(above, below) {
  const a = above[3];
  return [0, 1, 2].map((i) => above[i] * a + below[i] * (1 - a)).concat(1);
}

// luminance and the ratio are those of WCAG 2.2, "relative luminance" and "contrast ratio".
function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ratio(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// ground is the colour that an element's text stands on.
function ground(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const shape = e instanceof SVGTextElement && e.parentElement.querySelector("rect");
    if (shape) layers.push(channels(getComputedStyle(shape).fill));
    layers.push(channels(getComputedStyle(e).backgroundColor));
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return layers.reverse().reduce((below, above) => over(above, below), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
}

// texts measures all text that is shown.
function texts() {
  const all = [];
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    const style = getComputedStyle(element);
    if (!node.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("style, title, desc") || element.closest(".hidden") || style.clipPath !== "none") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const below = ground(element);
    all.push({ text: node.data.trim().slice(0, 40), ratio: ratio(over(channels(colour), below), below), size: parseFloat(style.fontSize) });
  }
  return all;
}

// layAll has the browser lay out what it would leave for later.
function layAll() {
  const style = document.createElement("style");
  style.textContent = "* { content-visibility: visible !important }";
  document.head.append(style);
}

// wide lists what sticks out of the page; what scrolls by itself may.
function wide() {
  layAll();
  const most = document.documentElement.clientWidth;
  const out = [...document.body.querySelectorAll("*")].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right > most + 0.5 && !e.closest(".scroll > *, .skip, .hidden") && getComputedStyle(e).clipPath === "none";
  });
  return { page: document.documentElement.scrollWidth - most, elements: out.map((e) => e.tagName + " " + (e.getAttribute("class") || "") + ": " + e.textContent.slice(0, 40)) };
}

// openAll opens what can be opened, and tells how much that was.
function openAll() {
  const all = document.querySelectorAll("details");
  all.forEach((e) => (e.open = true));
  return all.length;
}

// focused tells of what has the focus; each such element is marked.
function focused() {
  const e = document.activeElement;
  if (!e || e === document.body) return { tag: "" };
  e.dataset.seen = "yes";
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  return {
    tag: e.tagName.toLowerCase(),
    text: e.textContent.trim().slice(0, 40),
    shown: box.width > 0 && box.bottom > 0 && box.top < innerHeight,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    open: e.tagName === "SUMMARY" && e.parentElement.open,
  };
}

const summaries = () => [...document.querySelectorAll("summary")];

// hurry opens everything before one part and gives that the focus, before anything
// of it is drawn.
function hurry(i) {
  const all = summaries();
  all.forEach((e, at) => (e.parentElement.open = at < i));
  all[i].focus();
  return i;
}

// unseen lists what can be worked with and never had the focus.
function unseen() {
  const all = document.querySelectorAll("a[href], summary, [tabindex='0']");
  return [...all].filter((e) => e.dataset.seen !== "yes").map((e) => e.tagName + ": " + e.textContent.trim().slice(0, 40));
}

// structure counts what a reader who sees no picture goes by.
function structure() {
  const count = (selector) => document.querySelectorAll(selector).length;
  const named = (e) => e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby")?.split(" ")[0])?.textContent;
  return {
    language: document.documentElement.lang,
    title: document.title,
    landmarks: ["body > header", "body > main", "body > footer"].map(count),
    headings: count("h1, h2, h3, h4, h5"),
    firsts: count("h1"),
    unnamed: [...document.querySelectorAll("nav, [role=table], [role=region], [role=img]")].filter((e) => !named(e)?.trim()).length,
    tables: count("table, [role=table]"),
    headless: [...document.querySelectorAll("table, [role=table]")].filter((t) => !t.querySelector("th[scope=col], [role=columnheader]") || !t.querySelector("th[scope=row], [role=rowheader]")).length,
    twice: [...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i),
    scripts: count("script"),
    rows: count(".runs > .row"),
    details: count("main > section > details"),
  };
}
