// Sort the tables of the overview, and search and filter its trials. Without this script all lines stand as they were
// written, the worst verdict first. A table has one body for each line, with the reason below it.
{
  const DIRECTIONS = { null: "ascending", ascending: "descending", descending: null }; // what a click makes of each

  // The number of a cell, else its text; null for a line without it, which is last in both directions.
  const keyOf = (body, column) => {
    const cell = body.rows[0].cells[column];
    if (cell === undefined || (cell.classList.contains("n") && cell.dataset.value === undefined)) return null;
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const compared = (one, other) =>
    typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });

  const sorted = (bodies, column, direction) => {
    const lines = bodies.map(body => [keyOf(body, column), body]), sign = direction === "descending" ? -1 : 1;
    const known = lines.filter(([key]) => key !== null), others = lines.filter(([key]) => key === null);
    return [...known.sort(([one], [other]) => sign * compared(one, other)), ...others].map(([, body]) => body);
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const written = [...table.tBodies], heads = [...table.tHead.rows[0].cells];
    table.classList.add("sorts");
    heads.forEach((head, column) => {
      if (head.dataset.sort === undefined) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const direction = DIRECTIONS[head.getAttribute("aria-sort")];
        heads.forEach(other => other.removeAttribute("aria-sort"));
        if (direction) head.setAttribute("aria-sort", direction);
        table.append(...(direction ? sorted(written, column, direction) : written));
      });
    });
  }

  for (const form of document.querySelectorAll("form.choose")) {
    const bodies = [...document.getElementById(form.dataset.of).tBodies], said = form.querySelector("output");
    const texts = bodies.map(body => `${body.textContent} ${body.dataset.find}`.toLowerCase());
    const choose = () => {
      const words = form.querySelector("[name=words]").value.toLowerCase().split(/\s+/);
      const chosen = [...form.querySelectorAll("select")].filter(one => one.value);
      const fits = bodies.map((body, at) => words.every(word => texts[at].includes(word)) && chosen.every(one => body.dataset[one.name] === one.value));
      bodies.forEach((body, at) => { body.hidden = !fits[at]; });
      said.textContent = `${fits.filter(Boolean).length} of ${bodies.length} ${form.dataset.noun ?? "lines"}`;
    };
    form.addEventListener("input", choose);
    form.addEventListener("reset", () => setTimeout(choose));
    form.addEventListener("submit", event => event.preventDefault());
    form.hidden = false;
    choose();
  }
}
