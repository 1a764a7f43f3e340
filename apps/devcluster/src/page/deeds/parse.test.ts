import { describe, expect, it } from '@jest/globals'
import { parseDeed } from './parse.ts'

const claim = { name: 'a', size: '1Gi', class: '' }

describe('a deed', () => {
  it('is taken with the fields of its form, trimmed', () => {
    expect(parseDeed({ deed: 'makeClaim', values: { ...claim, name: ' a ' } })).toEqual({
      name: 'makeClaim',
      values: claim,
    })
    expect(parseDeed({ deed: 'mendCalls', values: {} })).toEqual({ name: 'mendCalls', values: {} })
    expect(parseDeed({ deed: 'makePod', values: { name: 'p', claim: 'other/data' } }).values).toEqual({
      name: 'p',
      claim: 'other/data',
      node: '',
    })
  })

  const wrong: [string, unknown, string][] = [
    ['nothing', undefined, 'There is no such deed.'],
    ['a deed that nobody knows', { deed: 'toString', values: {} }, 'There is no such deed.'],
    ['a field that is not there', { deed: 'mendCalls', values: { x: '1' } }, '"x" is not a field of this form.'],
    ['a missing name', { deed: 'makeClaim', values: { size: '1Gi' } }, 'Name must be given.'],
    ['a name of another kind', { deed: 'makeClaim', values: { ...claim, name: 5 } }, 'Name must be a text.'],
    [
      'a name that leads elsewhere',
      { deed: 'makeClaim', values: { ...claim, name: '../x' } },
      'Name must be a name of',
    ],
    [
      'a key with too many parts',
      { deed: 'deletePod', values: { pod: 'a/b/c' } },
      'Pod must be a name, or a namespace',
    ],
    [
      'a size that is none',
      { deed: 'makeClaim', values: { ...claim, size: 'big' } },
      'Size must be a size as 1Gi or 500M.',
    ],
    [
      'a number that is too large',
      { deed: 'killDriver', values: { seconds: '1001' } },
      'must be a whole number from 1 to 1000.',
    ],
    [
      'a call that the driver does not have',
      { deed: 'breakCalls', values: { method: 'Probe', how: 'fails with Internal', times: '1' } },
      'Call must be one of: ControllerPublishVolume',
    ],
  ]
  it.each(wrong)('is refused with a sentence: %s', (_, body, message) => {
    expect(() => parseDeed(body)).toThrow(message)
  })
})
