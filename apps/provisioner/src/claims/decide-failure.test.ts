import { describe, expect, it } from '@jest/globals'
import { decideFailure, type FailureView } from './decide-failure.ts'
import type { CreationFailure } from './failure.ts'

type Change = Partial<Omit<FailureView, 'failure'>> & { readonly failure?: Partial<CreationFailure> }

const ON_CLASS = { kind: 'class', name: 'fast' }
const ON_SECRET = { kind: 'secret', name: 'default/creds' } as const
const wait = (...waitsFor: object[]) => ({ kind: 'wait', waitsFor })
const release = (isEnded: boolean, reschedules: boolean) => ({ kind: 'release', isEnded, reschedules })
const [REPORT, REFRESH, END, RETRY] = [
  { kind: 'report' },
  { kind: 'refreshCapacity' },
  { kind: 'endCreation' },
  { kind: 'retry' },
]

function viewOf({ failure, ...change }: Change): FailureView {
  return {
    failure: { message: 'no', state: 'unchanged', isAnswered: false, isInfeasible: false, waitsFor: [], ...failure },
    className: 'fast',
    isPopulated: false,
    isOtherRequest: false,
    isLasting: false,
    driverLost: false,
    hasSelectedNode: false,
    ...change,
  }
}

const answered = (state: CreationFailure['state'], change: Partial<CreationFailure> = {}) =>
  ({ failure: { state, isAnswered: true, ...change } }) as const

describe('decideFailure', () => {
  it.each<[name: string, change: Change, plan: readonly object[]]>([
    ['leaves a claim to its volume populator', { isPopulated: true }, [{ kind: 'ignore' }]],
    ['waits for the class after a failure before the call', {}, [wait(ON_CLASS), REPORT, RETRY]],
    [
      'waits for the missing object too',
      { failure: { waitsFor: [ON_SECRET] } },
      [wait(ON_SECRET, ON_CLASS), REPORT, RETRY],
    ],
    [
      'gives up a deleted claim whose call cannot be repeated',
      { isLasting: true },
      [wait(ON_CLASS), REPORT, { kind: 'giveUp' }, RETRY],
    ],
    ['repeats a call that may still run', answered('background'), [wait(), REPORT, REFRESH, RETRY]],
    [
      'does not give up a call that the driver has answered',
      { ...answered('background'), isLasting: true },
      [wait(), REPORT, REFRESH, RETRY],
    ],
    [
      'does not report a call during which the driver left',
      { ...answered('background'), driverLost: true },
      [wait(), REFRESH, RETRY],
    ],
    [
      'reports a failure before the call although the driver is disconnected',
      { driverLost: true },
      [wait(ON_CLASS), REPORT, RETRY],
    ],
    [
      'forgets a request that differs from the request of the volume',
      { ...answered('background'), isOtherRequest: true },
      [wait(), REPORT, REFRESH, { kind: 'forgetRequest' }, wait(ON_CLASS), { kind: 'giveUp' }, RETRY],
    ],
    [
      'releases the claim after the end of its creation',
      answered('final'),
      [wait(), REPORT, REFRESH, END, release(true, false), RETRY],
    ],
    [
      'pauses after a refusal of the request',
      answered('final', { isInfeasible: true }),
      [wait(), REPORT, REFRESH, END, release(true, false), { kind: 'pause', waitsFor: ON_CLASS }],
    ],
    [
      'lets the scheduler select another node',
      { ...answered('reschedule'), hasSelectedNode: true },
      [wait(), REPORT, REFRESH, END, release(true, true), { kind: 'reschedule' }],
    ],
    [
      'keeps our finalizer if the node is unfit before the call, because an earlier call may run',
      { failure: { state: 'reschedule' }, hasSelectedNode: true },
      [wait(), REPORT, REFRESH, release(false, true), { kind: 'reschedule' }],
    ],
    [
      'retries if no node is selected',
      answered('reschedule'),
      [wait(), REPORT, REFRESH, END, release(true, false), RETRY],
    ],
  ])('the plan %s', (_, change, plan) => {
    expect(decideFailure(viewOf(change))).toEqual(plan)
  })
})
