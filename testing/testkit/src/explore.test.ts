import { expect, it } from '@jest/globals'
import { explore, type Model, type ModelMove } from './explore.ts'

interface Counter {
  readonly at: number
}

/** A model whose states are the numbers from zero to three, in a cycle. A fault changes the state to ten. */
function counter(overrides: Partial<Model<Counter>> = {}, fault?: number): Model<Counter> {
  return {
    initial: [{ at: 0 }],
    isGoal: ({ at }) => at === 3,
    violationOf: () => undefined,
    *movesFrom({ at }): Generator<ModelMove<Counter>> {
      if (at < 10) yield { name: 'count', to: { at: (at + 1) % 4 }, fair: true }
      if (at === fault) yield { name: 'fail', to: { at: 10 }, fair: false }
    },
    ...overrides,
  }
}

it('`explore` visits all states of a model, and counts the states, the goals and the moves', () => {
  const explored = explore(counter())
  expect(explored).toEqual({ states: 4, goals: 1, moves: new Map([['count', 4]]), problem: undefined })
})

it('`explore` reports the shortest path to a state that cannot reach the goal', () => {
  expect(explore(counter({}, 1)).problem).toBe(
    'No path leads to the goal\n  begin: {"at":0}\n  count: {"at":1}\n  fail: {"at":10}',
  )
})

it('`explore` uses only moves marked as fair to reach the goal', () => {
  const movesFrom = ({ at }: Counter): ModelMove<Counter>[] => [
    { name: 'user', to: { at: Math.min(at + 1, 3) }, fair: at > 0 },
  ]
  expect(explore(counter({ movesFrom })).problem).toBe('No path leads to the goal\n  begin: {"at":0}')
})

it('`explore` reports the shortest path to a state that violates a rule of the model', () => {
  const violationOf = ({ at }: Counter): string | undefined => (at === 2 ? 'two is wrong' : undefined)
  expect(explore(counter({ violationOf }, 1)).problem).toBe(
    'two is wrong\n  begin: {"at":0}\n  count: {"at":1}\n  count: {"at":2}',
  )
})

it('`explore` throws if a model has more states than the limit', () => {
  const movesFrom = ({ at }: Counter): ModelMove<Counter>[] => [{ name: 'grow', to: { at: at + 1 }, fair: true }]
  expect(() => explore(counter({ movesFrom, mostStates: 100 }))).toThrow(
    'more than 100 states, the last one: {"at":100}',
  )
})
