import { expect, it } from '@jest/globals'
import { checked, endPlan, next, type PlanCheck, planOf } from './plan.ts'

type Check = PlanCheck<number, string>

const addsNothing: Check = () => undefined
const addsOne: Check = (fact) => next(`one ${fact}`)
const endsWithTwo: Check = (fact) => endPlan(`two ${fact}`, 'three')
const ends: Check = () => endPlan()
const throws: Check = () => {
  throw new Error('asked')
}

it.each<[name: string, checks: readonly Check[], plan: readonly string[]]>([
  ['has the steps of all checks in their order', [addsNothing, addsOne, addsOne], ['one 7', 'one 7']],
  [
    'ends with the steps of the last check, and asks no further check',
    [addsOne, endsWithTwo, throws],
    ['one 7', 'two 7', 'three'],
  ],
  ['may end without a step', [ends, throws], []],
  ['is empty without checks', [], []],
])('a plan %s', (_, checks, plan) => {
  expect(planOf(checks, 7)).toEqual(plan)
})

it('a fact that no earlier check has verified is an error', () => {
  expect(checked(7)).toBe(7)
  expect(() => checked(undefined)).toThrow('an earlier check ends the plan without this fact')
})
