// plotly.js comes compressed, from a file next to the pages or within this one; without it only the tables are shown.
const specs = new Map([...document.querySelectorAll("script[data-plot]")].map(script => [document.getElementById(script.dataset.plot), script]));
const boxes = [...specs.keys()], drawn = new Set();
const TICK = 18; // pixels between two names below an axis, so that they do not touch

async function library() {
  const bytes = Uint8Array.from(atob(globalThis.packedPlotly), letter => letter.charCodeAt(0));
  const unpacked = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const script = document.createElement("script");
  script.src = URL.createObjectURL(new Blob([unpacked], { type: "text/javascript" }));
  await new Promise((done, failed) => { script.onload = done; script.onerror = failed; document.head.append(script); });
}

function draw(box) {
  if (drawn.has(box)) return;
  drawn.add(box);
  const spec = JSON.parse(specs.get(box).textContent);
  box.dispatchEvent(new CustomEvent("parsed", { detail: spec }));
  const ticks = spec.layout.xaxis.tickvals, room = Math.ceil(TICK * (ticks || []).length / (box.clientWidth - 70));
  if (room > 1) spec.layout.xaxis.ticktext = spec.layout.xaxis.ticktext.map((text, place) => place % room ? "" : text);
  box.replaceChildren();
  // A finger that drags must scroll the page; a mouse zooms.
  if (spec.layout.yaxis.fixedrange && matchMedia("(pointer: fine)").matches) spec.layout.dragmode = "zoom";
  Plotly.newPlot(box, spec.data, spec.layout, { displayModeBar: false, responsive: true }).then(() => box.dispatchEvent(new Event("drawn")));
}

function zoom(box, how) {
  draw(box);
  const [low, high] = box.layout.xaxis.range.map(Number), wide = high - low, middle = (low + high) / 2;
  const ranges = { in: [middle - wide / 4, middle + wide / 4], out: [middle - wide, middle + wide], earlier: [low - wide / 4, high - wide / 4], later: [low + wide / 4, high + wide / 4] };
  Plotly.relayout(box, how === "all" ? { "xaxis.autorange": true } : { "xaxis.range": ranges[how] || how.split(" ").map(Number) });
}

// A figure is drawn when it comes near the screen: a folded figure costs nothing and gets its width when it is unfolded.
function begin() {
  const near = new IntersectionObserver(entries => entries.forEach(entry => entry.isIntersecting && draw(entry.target)), { rootMargin: "600px" });
  boxes.forEach(box => near.observe(box));
  document.querySelectorAll("[data-zoom]").forEach(button => button.addEventListener("click", () => zoom(document.getElementById(button.dataset.of), button.dataset.zoom)));
  // Paper is narrower than most windows, and folded parts would not be printed.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach(details => { details.open = true; });
    boxes.forEach(box => { draw(box); Plotly.relayout(box, { width: Math.min(box.clientWidth, 640) }); });
  });
  addEventListener("afterprint", () => boxes.forEach(box => Plotly.relayout(box, { width: null, autosize: true })));
}

// A link to something folded unfolds all that it is in.
function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  let opened = false;
  for (let folded = target && target.closest("details"); folded; folded = folded.parentElement.closest("details")) {
    opened ||= !folded.open;
    folded.open = true;
  }
  if (opened) target.scrollIntoView();
}

addEventListener("hashchange", unfold);
unfold();
if (boxes.length) (globalThis.packedPlotly ? library() : Promise.reject()).then(begin, () => document.querySelectorAll(".undrawn").forEach(said => { said.hidden = false; }));
