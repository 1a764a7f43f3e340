import { describe, expect, it } from '@jest/globals'
import { linesOf, terminalPicture, withoutLongWaits } from './terminal-picture.ts'

describe('what a terminal has shown', () => {
  it('is whole lines with the moment of their end', () => {
    const chunks = [
      { at: 1, text: 'a\r\nb' },
      { at: 2, text: 'c\n\n\r\u001b[Kbuilding\r\u001b[Krest' },
      { at: 3, text: '\n' },
    ]
    expect(linesOf(chunks)).toEqual([
      { at: 1, text: 'a' },
      { at: 2, text: 'bc' },
      { at: 2, text: '' },
      { at: 3, text: 'rest' },
    ])
  })

  it('has no long silence', () => {
    const at = (...seconds: number[]): { at: number; text: string }[] => seconds.map((each) => ({ at: each, text: '' }))
    expect(withoutLongWaits(at(0, 1, 5, 5.5), 2)).toEqual(at(0, 1, 3, 3.5))
  })

  it('has its marks, and no other character of control', () => {
    const text = '\u001b[2m+1 ms\u001b[22m  \u001b[32mkubelet\u001b[39m <mounts> & "reads"\n'
    const svg = terminalPicture([{ at: 0.5, text }], 'npm start')
    expect(svg).toContain(
      '<tspan class="dim">+1 ms</tspan>  <tspan class="good">kubelet</tspan> &lt;mounts&gt; &amp; &quot;reads&quot;<',
    )
    expect(svg).toContain('animation-delay:0.50s')
    expect(svg.includes('\u001b')).toBe(false)
    expect(() => terminalPicture([{ at: 0, text: '\u001b[7mx' }], '')).toThrow('the terminal has no mark 7')
  })

  it('moves up once the screen is full', () => {
    const lines = (count: number): string =>
      terminalPicture(
        Array.from({ length: count }, (_, at) => ({ at, text: 'x\n' })),
        '',
      )
    expect(lines(26)).toContain('.all { transform: translateY(0px)')
    expect(lines(28)).toContain('.all { transform: translateY(-34px)')
    const atOnce = terminalPicture([{ at: 1, text: 'x\n'.repeat(30) }], '')
    expect(atOnce.match(/99\.01% /g)).toHaveLength(1)
  })
})
