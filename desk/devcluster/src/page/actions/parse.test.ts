import { describe, expect, it } from '@jest/globals'
import { parseAction } from './parse.ts'

const claim = { name: 'a', size: '1Gi', class: '' }

describe('parseAction', () => {
  it('an action of the page has the trimmed values of its form', () => {
    expect(parseAction({ action: 'createClaim', values: { ...claim, name: ' a ' } })).toEqual({
      name: 'createClaim',
      values: claim,
    })
    expect(parseAction({ action: 'clearFaults', values: {} })).toEqual({ name: 'clearFaults', values: {} })
    expect(parseAction({ action: 'createPod', values: { name: 'p', claim: 'other/data' } }).values).toEqual({
      name: 'p',
      claim: 'other/data',
      node: '',
    })
  })

  const wrong: [string, unknown, string][] = [
    ['nothing', undefined, 'There is no such action.'],
    ['an unknown action', { action: 'toString', values: {} }, 'There is no such action.'],
    ['an unknown field', { action: 'clearFaults', values: { x: '1' } }, '"x" is not a field of this form.'],
    ['a missing name', { action: 'createClaim', values: { size: '1Gi' } }, 'Name must be given.'],
    ['a number as a name', { action: 'createClaim', values: { ...claim, name: 5 } }, 'Name must be a text.'],
    ['a name with a path', { action: 'createClaim', values: { ...claim, name: '../x' } }, 'Name must be a name of'],
    [
      'a key with too many parts',
      { action: 'deletePod', values: { pod: 'a/b/c' } },
      'Pod must be a name, or a namespace',
    ],
    [
      'a size that is no quantity',
      { action: 'createClaim', values: { ...claim, size: 'big' } },
      'Size must be a size such as 1Gi or 500M.',
    ],
    [
      'a number that is too large',
      { action: 'killDriver', values: { seconds: '1001' } },
      'must be a whole number from 1 to 1000.',
    ],
    [
      'a call without faults',
      { action: 'injectFaults', values: { method: 'Probe', how: 'fails with Internal', times: '1' } },
      'Call must be one of: ControllerPublishVolume',
    ],
  ]
  it.each(wrong)('the page refuses an action that contains %s, and explains why', (_, body, message) => {
    expect(() => parseAction(body)).toThrow(message)
  })
})
