() => {
  const all = selector => [...document.querySelectorAll(`.jp-OutputArea-output ${selector}`)]
  const rgba = text => { const n = text.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n }
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
  const contrast = node => {
    const ground = light(rgba(getComputedStyle(node.closest('pre')).backgroundColor)), own = light(rgba(getComputedStyle(node).color))
    return (Math.max(ground, own) + .05) / (Math.min(ground, own) + .05)
  }
  const pres = all('pre').filter(n => n.querySelector('code'))
  return {
    formulas: all('mjx-container').length,
    errors: all('mjx-merror').length,
    codes: pres.map(n => n.innerText),
    scrolls: pres.map(n => n.scrollWidth > n.clientWidth && getComputedStyle(n).overflowX === 'auto'),
    wraps: pres.flatMap(n => [n, n.querySelector('code')]).map(n => getComputedStyle(n).whiteSpace),
    seams: pres.map(n => n.querySelector('code')).map(n => [getComputedStyle(n).backgroundColor, getComputedStyle(n).padding]),
    opaque: pres.map(n => rgba(getComputedStyle(n).backgroundColor)[3]),
    colours: new Set(pres.flatMap(n => [...n.querySelectorAll('span')]).map(n => getComputedStyle(n).color)).size,
    contrast: Math.min(...pres.flatMap(n => [n.querySelector('code'), ...n.querySelectorAll('span')]).map(contrast)),
    paragraphs: all('p').map(n => n.innerText),
    tables: all('table').map(n => n.innerText),
    tasks: all('li').map(n => n.innerText),
    images: all('img').map(n => [n.naturalWidth, n.alt]),
  }
}
