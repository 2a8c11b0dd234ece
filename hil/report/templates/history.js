// The names of the nights are on the page once, and not in each figure.
const nights = JSON.parse(document.getElementById("nights").textContent).nights;
boxes.forEach(box => box.addEventListener("parsed", ({ detail: spec }) => spec.data.forEach(trace => { trace.text = nights.slice(trace.x0); })));
