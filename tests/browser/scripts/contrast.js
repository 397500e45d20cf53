// Text of ours whose colour is less than 3 : 1 apart from what is painted behind it; letters drawn for copying only
// have no colour at all.
() => {
  const rgba = text => { const n = text.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n }
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1)
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
  const behind = node => {
    const layers = []
    for (let n = node; n; n = n.parentElement) {
      const c = rgba(getComputedStyle(n).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break
    }
    return layers.reverse().reduce((below, c) => over(c, below), [0, 0, 0, 1])
  }
  const low = []
  for (const root of document.querySelectorAll(".jp-RenderedHTMLCommon > div[style]")) {
    for (const node of root.querySelectorAll("*")) {
      const own = [...node.childNodes].filter(n => n.nodeType === 3 && n.data.trim())
      if (!own.length || !node.offsetWidth || rgba(getComputedStyle(node).color)[3] === 0) continue
      const ground = behind(node), a = light(over(rgba(getComputedStyle(node).color), ground)), b = light(ground)
      const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
      if (ratio < 3) low.push([own[0].data.trim().slice(0, 40), Math.round(ratio * 10) / 10])
    }
  }
  return low
}
