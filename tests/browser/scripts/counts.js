() => [...document.querySelectorAll('.jp-CodeCell')].map(cell => [
  cell.querySelectorAll('.jp-OutputArea-output mjx-container').length,
  cell.querySelectorAll('mjx-merror').length,
  [...cell.querySelectorAll('.jp-OutputArea-output')].map(n => n.innerText).join(''),
])
