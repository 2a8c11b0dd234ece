// Two cursors in a power trace, and the life of a battery. The sums at the places of the cursors are over all readings.
const PREFIXES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

// As hil/report/formats.py: value and uncertainty with the same prefix, the uncertainty with two digits.
function figure(value, unit, u) {
  if (!Number.isFinite(value)) return "–";
  const [scale, prefix] = value ? PREFIXES.find(([least]) => Math.abs(value) >= least) || PREFIXES[3] : PREFIXES[0];
  if (!u) return `${(value / scale).toLocaleString("en", { maximumSignificantDigits: 4 })}\u00a0${prefix}${unit}`;
  const digits = Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(u / scale))));
  const text = number => (number / scale).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text(value)} ± ${text(u)}\u00a0${prefix}${unit}`;
}

const floats = packed => packed && new Float64Array(Uint8Array.from(atob(packed.bdata), letter => letter.charCodeAt(0)).buffer);

function nearest(t, x) {
  let low = 0, high = t.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (t[middle] <= x) low = middle; else high = middle; }
  return x - t[low] <= t[high] - x ? low : high;
}

function cursors(panel) {
  const box = document.getElementById(panel.dataset.of), handles = [];
  let trace, at;

  function load(packed) {
    const before = trace;
    trace = { ...packed, t: floats(packed.t), energy: floats(packed.energy), charge: floats(packed.charge) };
    // In a trace that grows a cursor keeps its time; one at the end stays there.
    if (!before || before.t.length < 2) reset("edges"); else at = at.map(place => place === before.t.length - 1 ? trace.t.length - 1 : nearest(trace.t, before.t[place]));
    show();
  }

  function reset(how) {
    const shown = box.layout ? box.layout.xaxis.range.map(Number) : [-Infinity, Infinity], edges = trace.edges.map(edge => edge.t_s);
    const [from, to] = how === "edges" && edges.length > 1 ? [edges[0], edges[edges.length - 1]] : how === "shown" ? shown : [-Infinity, Infinity];
    at = [nearest(trace.t, from), nearest(trace.t, to)];
  }

  function show() {
    const [a, b] = [...at].sort((one, other) => one - other), t = trace.t, limits = trace.limits;
    const uncertainty = place => (trace.edges.find(edge => edge.t_s === t[place]) || { u_s: 0 }).u_s;
    const seconds = t[b] - t[a], late = Math.hypot(uncertainty(a), uncertainty(b));
    const said = { duration: figure(seconds, "s", limits && Math.hypot(limits.time * seconds, late)), from: figure(t[at[0]], "s"), to: figure(t[at[1]], "s") };
    for (const [sums, unit, name, rate, its, share, steady] of [[trace.energy, "J", "energy", "W", "power", "energy", "watts"], [trace.charge, "C", "charge", "A", "current", "charge", "amperes"]]) {
      const sum = sums ? sums[b] - sums[a] : NaN, mean = sum / seconds;
      said[name] = figure(sum, unit, limits && Math.hypot(limits[share] * sum, limits[steady] * seconds, mean * late || 0));
      said[its] = figure(mean, rate, limits && Math.hypot(limits[share] * mean, limits[steady]));
    }
    for (const [name, text] of Object.entries(said)) panel.querySelector(`[data-figure=${name}]`).textContent = text;
    place();
  }

  function place() {
    const full = box._fullLayout;
    if (!full || !handles.length) return;
    handles.forEach((handle, which) => {
      const x = full.xaxis.d2p(trace.t[at[which]]);
      handle.hidden = x < -1 || x > full.xaxis._length + 1;
      Object.assign(handle.style, { left: `${full.xaxis._offset + x}px`, top: `${full.yaxis._offset}px`, height: `${full.yaxis._length}px` });
      handle.setAttribute("aria-valuenow", trace.t[at[which]]);
      handle.setAttribute("aria-valuetext", figure(trace.t[at[which]], "s"));
    });
  }

  function move(which, where) {
    at[which] = Math.min(trace.t.length - 1, Math.max(0, where));
    show();
  }

  function attach() {
    for (const [which, name] of ["A", "B"].entries()) {
      const handle = document.createElement("div");
      Object.assign(handle, { className: "cursor", tabIndex: 0 });
      handle.append(Object.assign(document.createElement("span"), { textContent: name }));
      handle.setAttribute("role", "slider");
      handle.setAttribute("aria-label", `Cursor ${name}, in seconds from the first edge`);
      handle.setAttribute("aria-valuemin", trace.t[0]);
      handle.setAttribute("aria-valuemax", trace.t[trace.t.length - 1]);
      handle.addEventListener("pointerdown", event => { handle.setPointerCapture(event.pointerId); event.preventDefault(); handle.focus(); });
      handle.addEventListener("pointermove", event => {
        if (!handle.hasPointerCapture(event.pointerId)) return;
        const axis = box._fullLayout.xaxis;
        move(which, nearest(trace.t, axis.p2d(event.clientX - box.getBoundingClientRect().left - axis._offset)));
      });
      handle.addEventListener("keydown", event => {
        const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
        if (!steps) return;
        event.preventDefault();
        move(which, at[which] + steps * (event.shiftKey ? 10 : 1));
      });
      handles.push(box.appendChild(handle));
    }
    box.on("plotly_afterplot", place);
    box.on("plotly_click", event => {
      const x = event.points[0].x, far = which => Math.abs(trace.t[at[which]] - x);
      move(far(0) <= far(1) ? 0 : 1, nearest(trace.t, x));
    });
    place();
  }

  panel.querySelectorAll("[data-set]").forEach(button => button.addEventListener("click", () => {
    if (button.dataset.set !== "zoom") { reset(button.dataset.set); return show(); }
    const [low, high] = at.map(place => trace.t[place]).sort((one, other) => one - other), edge = (high - low) / 20;
    if (high > low) Plotly.relayout(box, { "xaxis.range": [low - edge, high + edge] });
  }));
  load(JSON.parse(panel.querySelector("script").textContent));
  panel.hidden = false;
  box.addEventListener("drawn", attach, { once: true });
  panel.load = load;
}

function battery(form) {
  const show = () => {
    const { active, idle, activeU, idleU } = form.dataset, value = name => Number(form.elements[name].value);
    const capacity = value("capacity"), voltage = value("voltage"), share = form.elements.duty ? value("duty") / 100 : 1;
    const mean = share * active + (1 - share) * idle, hours = capacity / 1000 * voltage / mean;
    const u = hours * Math.hypot(share * activeU, (1 - share) * idleU) / mean;
    const [unit, length] = hours < 48 ? ["hours", 1] : hours < 2 * 365 * 24 ? ["days", 24] : ["years", 365.25 * 24];
    const whole = capacity > 0 && voltage > 0 && share >= 0 && share <= 1 && mean > 0;
    form.querySelector("[data-figure=life]").textContent = whole ? figure(hours / length, unit, u / length) : "–";
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  show();
}

document.querySelectorAll(".cursors").forEach(cursors);
document.querySelectorAll(".battery").forEach(battery);
