// The page of `hil power --watch --page`: draws what was watched, and while the meter is read, asks for more.
const watched = document.getElementById("watched"), every = Number(watched.dataset.every);
const waveform = document.getElementById("plot-power"), histogram = document.getElementById("plot-histogram");
let latest = JSON.parse(watched.textContent);

function drawWaveform() {
  const t = [...floats(latest.t)], energy = floats(latest.energy), scale = bins => [...floats(bins), NaN].map(value => 1e3 * value);
  const mean = scale(latest.lowest).map((low, bin) => Number.isFinite(low) ? 1e3 * (energy[bin + 1] - energy[bin]) / (t[bin + 1] - t[bin]) : NaN);
  [scale(latest.lowest), scale(latest.highest), mean].forEach((y, which) => {
    if (y.length > 1) y[y.length - 1] = y[y.length - 2];
    Object.assign(waveform.data[which], { x: t, y });
  });
  Plotly.react(waveform, waveform.data, { ...waveform.layout, datarevision: latest.revision });
}

function drawHistogram() {
  const { width, counts } = latest.histogram, all = counts.reduce((sum, count) => sum + count, 0);
  Object.assign(histogram.data[0], { x: counts.map((_, place) => 1e3 * width * (place + 0.5)), y: counts.map(count => 100 * count / (all || 1)), width: 1e3 * width });
  Plotly.react(histogram, histogram.data, { ...histogram.layout, datarevision: latest.revision });
}

function tell() {
  for (const [name, unit] of [["now", "W"], ["mean", "W"], ["lowest", "W"], ["highest", "W"], ["energy", "J"]])
    document.querySelector(`[data-now=${name}]`).textContent = figure(latest.figures[name] ?? NaN, unit);
  document.querySelector("[data-now=readings]").textContent = latest.figures.readings.toLocaleString("en");
  const missed = document.getElementById("missed");
  missed.hidden = !latest.missed_s;
  missed.textContent = `${latest.missed_s.toFixed(1)} s did not count${latest.trouble ? `: ${latest.trouble}` : ""}`;
  document.querySelector(".cursors").load({ ...latest, edges: [], limits: null });
  const form = document.querySelector(".battery");
  form.dataset.active = form.dataset.idle = latest.figures.mean ?? NaN;
  form.dispatchEvent(new Event("input"));
  if (waveform.data) drawWaveform();
  if (histogram.data) drawHistogram();
}

async function ask() {
  try {
    latest = await (await fetch("data.json")).json();
    tell();
  } catch {
    document.getElementById("state").textContent = "ended";
    return;
  }
  setTimeout(ask, every);
}

waveform.addEventListener("drawn", drawWaveform);
histogram.addEventListener("drawn", drawHistogram);
tell();
if (every) setTimeout(ask, every);
