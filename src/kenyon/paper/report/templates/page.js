"use strict";
// Without this script everything works except the filter and the panel; it loads nothing from the network.

function claims() {
  const rows = [...document.querySelectorAll("#claims-table tbody tr")];
  const buttons = [...document.querySelectorAll("#filter input")];
  const status = document.getElementById("filter-status");
  if (!status) return;  // nothing was judged
  function apply() {
    const wanted = buttons.find((button) => button.checked).value;
    for (const row of rows) row.hidden = wanted !== "all" && row.dataset.verdict !== wanted;
    status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims shown`;
  }
  // A link to a claim that the filter hides shows all claims again.
  function reveal() {
    const row = rows.find((claim) => "#" + claim.id === location.hash);
    if (!row || !row.hidden) return;
    buttons[0].checked = true;
    apply();
    row.scrollIntoView();
  }
  for (const button of buttons) button.addEventListener("change", apply);
  addEventListener("hashchange", reveal);
  apply();
}

function panel() {
  const data = JSON.parse(document.getElementById("panel-data").textContent);
  const slider = document.getElementById("theta");
  const canvas = document.getElementById("code");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const rows = data.states.length, columns = data.states[0].length, gap = 1;
  canvas.width = columns;
  canvas.height = rows + gap;

  function colour(x, [silent, weak, strong]) {
    if (x <= 0) return silent;
    const strength = Math.sqrt(Math.min(1, x / data.largest));
    return weak.map((low, i) => low + (strong[i] - low) * strength);
  }

  function drawCode(theta) {
    const palette = data.palettes[dark.matches ? "dark" : "light"];
    const image = new ImageData(columns, rows + gap);
    data.states.forEach((states, row) => {
      const line = row < data.first ? row : row + gap;
      states.forEach((V, column) => {
        image.data.set([...colour(V - theta, palette), 255], 4 * (line * columns + column));
      });
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  function moveMarker(name, i) {
    const svg = document.getElementById("curve-" + name);
    const [left, top, width, height] = data.plot;
    const low = +svg.dataset.low, high = +svg.dataset.high, value = data[name][i];
    const x = left + width * data.theta[i] / data.theta[data.theta.length - 1];
    const marker = svg.querySelector(".marker"), dot = marker.querySelector("circle");
    marker.setAttribute("transform", `translate(${x} 0)`);
    dot.style.display = value === null ? "none" : "";
    dot.setAttribute("cy", top + height * (1 - ((value ?? low) - low) / (high - low)));
  }

  function say(id, words) {
    document.getElementById(id).textContent = words;
  }

  function accuracy(i) {
    const how = data.coding[i] < data.silence ? "fall silent" : "diverge";
    const lost = data.lost[i] ? `${data.lost[i]} of ${data.runs} runs ${how}` : "";
    if (data.accuracy[i] === null) return lost || "none";
    return data.accuracy[i].toFixed(2) + (lost ? ` (${lost})` : "");
  }

  function show() {
    const i = +slider.value, theta = data.theta[i];
    const quiet = data.silent[i] ? ` (${data.silent[i]} of ${rows} odours silent)` : "";
    drawCode(theta);
    for (const name of ["coding", "overlap", "accuracy"]) moveMarker(name, i);
    slider.setAttribute("aria-valuetext", theta.toFixed(2));
    say("theta-value", theta.toFixed(2));
    say("coding-value", (100 * data.coding[i]).toFixed(data.coding[i] < 0.1 ? 1 : 0) + "%" + quiet);
    say("overlap-value", data.overlap[i] === null ? "none" : data.overlap[i].toFixed(2));
    say("accuracy-value", accuracy(i));
  }

  slider.addEventListener("input", show);
  dark.addEventListener("change", show);
  show();
}

// Open everything for printing, except the lists of effects, which stand in narrow cells; close it again afterwards.
function paper() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter((element) => !element.closest("#claims-table"));
    for (const element of opened) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of opened) element.open = false;
  });
}

document.documentElement.classList.add("scripted");
claims();
panel();
paper();
