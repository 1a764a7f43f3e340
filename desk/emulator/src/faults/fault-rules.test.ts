import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import { type FaultRuleFor, FaultRules, sameFields } from './fault-rules.ts'

interface Subject {
  readonly method: string
  readonly name: string | undefined
}

function book(clock = new FakeClock()): FaultRules<Subject, Partial<Subject>, string> {
  return new FaultRules(clock, (subject, match) => sameFields<Subject>(subject, match))
}

const get = { method: 'get', name: 'a' }
const meetings = (faults: ReturnType<typeof book>, count: number): (string | undefined)[] =>
  Array.from({ length: count }, () => faults.match(get))

test.each<[string, FaultRuleFor<Partial<Subject>, string>, (string | undefined)[]]>([
  ['a rule without a match applies to each request', { action: 'x' }, ['x', 'x', 'x']],
  [
    'all fields of a match must be equal',
    { match: { method: 'get', name: 'b' }, action: 'x' },
    [undefined, undefined, undefined],
  ],
  [
    'an undefined field of a match equals any value',
    { match: { method: 'get', name: undefined }, action: 'x' },
    ['x', 'x', 'x'],
  ],
  ['`times` ends a rule', { times: 2, action: 'x' }, ['x', 'x', undefined]],
  ['`skip` lets the first requests pass', { skip: 1, times: 1, action: 'x' }, [undefined, 'x', undefined]],
])('fault rules: %s', (_name, rule, expected) => {
  const faults = book()
  faults.add(rule)
  expect(meetings(faults, 3)).toEqual(expected)
})

test('a fault rule applies to each request with the probability in its field `share`', () => {
  const draws = [0.1, 0.9, 0.4]
  const faults = book(new FakeClock({ random: () => draws.shift() ?? 0 }))
  const rule = faults.add({ share: 0.5, action: 'x' })
  expect(meetings(faults, 3)).toEqual(['x', undefined, 'x'])
  expect(rule.hits).toBe(2)
})

test('the first matching fault rule applies until it is removed', () => {
  const faults = book()
  const first = faults.add({ action: 'first' })
  faults.add({ action: 'second' })
  expect(faults.match(get)).toBe('first')
  first.remove()
  expect(faults.match(get)).toBe('second')
  faults.clear()
  expect(faults.match(get)).toBeUndefined()
})

test('`hold` blocks matching requests until `release` is called', async () => {
  const faults = book()
  const hold = faults.hold({ name: 'a' })
  const passed: string[] = []
  const passing = faults.awaitHold(get).then(() => passed.push('a'))
  await faults.awaitHold({ method: 'get', name: 'b' })
  await hold.arrived
  expect({ passed, waiting: hold.waiting }).toEqual({ passed: [], waiting: 1 })
  hold.release()
  await passing
  await faults.awaitHold(get)
  expect({ passed, waiting: hold.waiting }).toEqual({ passed: ['a'], waiting: 0 })
})
