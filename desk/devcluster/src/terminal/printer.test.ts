import { describe, expect, it } from '@jest/globals'
import { PLAIN, storyPrinter, styleFor, WIDTH } from './printer.ts'

function written(print: (printer: ReturnType<typeof storyPrinter>) => void, style = PLAIN): string {
  const texts: string[] = []
  print(storyPrinter((text) => texts.push(text), style))
  return texts.join('')
}

describe('storyPrinter', () => {
  it('the printer of the demo prints the time, the component and its action', () => {
    const text = written((printer) => {
      printer.step(2, 'A pod uses it')
      printer.line({ who: 'csi-attacher', text: 'VolumeAttachment attached' }, 12.4)
    })
    expect(text).toBe('\n 2  A pod uses it\n   +12 ms  csi-attacher        VolumeAttachment attached\n')
  })

  it('the printer of the demo shortens long texts to 80 columns', () => {
    const long = 'x'.repeat(200)
    const text = written((printer) => {
      printer.step(1, long)
      printer.line({ who: long, text: long }, 123_456_789)
    })
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(WIDTH + 5)
    const usual = written((printer) => printer.line({ who: long, text: long }, 29_999))
    expect(usual.trimEnd()).toHaveLength(WIDTH)
  })
})

describe('styleFor', () => {
  const ESCAPE = '\u001b['
  const rows: [string, { isTTY?: boolean }, NodeJS.ProcessEnv, boolean][] = [
    ['a terminal', { isTTY: true }, {}, true],
    ['a pipe', {}, {}, false],
    ['a user who has set NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, true],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ]
  it.each(rows)('the output has colours only if %s allows them', (_, output, env, coloured) => {
    expect(styleFor(output, env).bold('x').includes(ESCAPE)).toBe(coloured)
  })
})
