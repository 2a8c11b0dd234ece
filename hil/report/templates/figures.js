// plotly.js travels compressed within the page; where a browser cannot unpack it, the tables stand alone.
const specs = [...document.querySelectorAll("script[data-plot]")].map(script => [document.getElementById(script.dataset.plot), JSON.parse(script.textContent)]);

async function library() {
  const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), letter => letter.charCodeAt(0));
  const script = document.createElement("script");
  script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(script);
}

function draw() {
  for (const [box, spec] of specs) {
    box.replaceChildren();
    Plotly.newPlot(box, spec.data, spec.layout, { displayModeBar: false, responsive: true });
  }
}

function zoom(how) {
  const box = document.getElementById("plot-power");
  const [low, high] = box.layout.xaxis.range.map(Number), wide = high - low, middle = (low + high) / 2;
  const ranges = { in: [middle - wide / 4, middle + wide / 4], out: [middle - wide, middle + wide], earlier: [low - wide / 4, high - wide / 4], later: [low + wide / 4, high + wide / 4] };
  Plotly.relayout(box, how === "all" ? { "xaxis.autorange": true } : { "xaxis.range": ranges[how] || how.split(" ").map(Number) });
}

library().then(draw);
document.querySelectorAll("[data-zoom]").forEach(button => button.addEventListener("click", () => zoom(button.dataset.zoom)));
// Paper is narrower than most windows, and shows nothing that is folded away.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach(details => { details.open = true; });
  specs.forEach(([box]) => Plotly.relayout(box, { width: Math.min(box.clientWidth, 640) }));
});
addEventListener("afterprint", () => specs.forEach(([box]) => Plotly.relayout(box, { width: null, autosize: true })));
