import { describe, expect, it } from '@jest/globals'
import { ROWS } from '../findings/rows.ts'
import { adviserOf, operationsText } from './advice.ts'

const adviser = adviserOf(operationsText())

describe('docs/operations.md', () => {
  it.each(Object.entries(ROWS))('docs/operations.md contains one row of advice for %s', (_, key) => {
    const advice = adviser(key)
    expect(advice.means).not.toBe('')
    expect(advice.do).not.toBe('')
  })

  it('docs/operations.md names the danger before the command that removes a finalizer', () => {
    const { below = '' } = adviser(ROWS.volumeGone)
    const [danger, command] = [below.indexOf('destroy its data'), below.indexOf('"finalizers":null')]
    expect(danger).toBeGreaterThan(0)
    expect(command).toBeGreaterThan(danger)
    expect(below).not.toContain('```')
  })

  it('docs/operations.md advises to remove a finalizer only for a volume that is gone', () => {
    const others = Object.values(ROWS).filter((key) => key !== ROWS.volumeGone)
    for (const key of others) expect(JSON.stringify(adviser(key))).not.toMatch(/finalizers":\s*null|kubectl patch/)
  })
})

const PAGE = `# A

### One

| you see | it means | do |
|---|---|---|
| a \\| b | is [this](x.md#y) | Follow the steps below |
| a \\| c | twice | do |
| twice | d | e |
| twice, too | d | e |

After it.

\`\`\`sh
kubectl x
\`\`\`

### Two

| you see | it means | do |
|---|---|---|
| only here | f | g |
`

describe('adviserOf', () => {
  const read = adviserOf(PAGE)

  it('the advice of docs/operations.md is a table row as plain text, and the text after the table', () => {
    expect(read({ heading: 'One', see: 'a | b' })).toEqual({
      see: 'a | b',
      means: 'is this',
      do: 'Follow the steps below',
      below: 'After it.\n\nkubectl x',
    })
    expect(read({ heading: 'Two', see: 'only' })).toEqual({ see: 'only here', means: 'f', do: 'g', below: undefined })
  })

  it.each([
    ['no row', { heading: 'One', see: 'only here' }],
    ['two rows', { heading: 'One', see: 'twice' }],
    ['no heading', { heading: 'Three', see: 'a' }],
  ])('the advice for a key that fits %s causes an error', (_, key) => {
    expect(() => read(key)).toThrow(`under "${key.heading}" with "${key.see}"`)
  })
})
