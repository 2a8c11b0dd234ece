// The names of the nights are on the page once, and not in each figure.
const nights = JSON.parse(document.getElementById("nights").textContent).nights;
boxes.forEach(box => box.addEventListener("parsed", ({ detail: spec }) => spec.data.forEach(trace => { trace.text = nights.slice(trace.x0); })));
// A link to a figure unfolds what it is in.
function show() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let folded = target && target.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", show);
show();
