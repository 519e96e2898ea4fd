"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touched = matchMedia("(pointer: coarse)").matches;
  const charts = [...document.querySelectorAll("figure")].map((figure) => ({
    at: figure.querySelector(".chart"),
    spec: JSON.parse(figure.querySelector("script").textContent),
  }));
  const config = { displayModeBar: false, responsive: true };

  function template(isDark) {
    const text = isDark ? "#c9d1db" : "#3a4451";
    const line = isDark ? "#2e3743" : "#e3e7ed";
    const axis = {
      automargin: true, gridcolor: line, linecolor: line, zerolinecolor: line, title: { standoff: 8 },
    };
    return {
      layout: {
        font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif", size: 12, color: text },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        margin: { l: 12, r: 12, t: 12, b: 12 },
        xaxis: axis,
        yaxis: axis,
        hoverlabel: {
          align: "left", bgcolor: isDark ? "#2a323d" : "#ffffff", bordercolor: line, font: { color: text },
        },
        legend: {
          orientation: "h", traceorder: "normal", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom",
        },
      },
    };
  }

  function draw(isDark) {
    for (const { at, spec } of charts) {
      const layout = { ...spec.layout, template: template(isDark) };
      // A finger that moves over a chart scrolls the page.
      if (touched) layout.dragmode = false;
      Plotly.react(at, spec.data, layout, config);
    }
  }

  draw(dark.matches);
  dark.addEventListener("change", () => draw(dark.matches));
  addEventListener("beforeprint", () => draw(false));
  addEventListener("afterprint", () => draw(dark.matches));
})();
