import type { CsiDriver } from '@csi-sidecars/emulator'
import { FAULTS } from '../view/action-table.ts'

interface Fault {
  readonly method: string
  readonly how: string
  readonly times: number
}

type DriverFault = Parameters<CsiDriver['faults']['add']>[0]['action']

const LATER_MS = 3000
const MESSAGE = 'injected on the page'

const ACTIONS: Readonly<Record<(typeof FAULTS)[number], DriverFault>> = {
  'fails with Internal': { do: 'fail', code: 'INTERNAL', message: MESSAGE },
  'fails with ResourceExhausted': { do: 'fail', code: 'RESOURCE_EXHAUSTED', message: MESSAGE },
  // UNAVAILABLE is the code that a caller gets when its connection is lost.
  'succeeds, but the answer is lost': {
    do: 'fail',
    code: 'UNAVAILABLE',
    message: 'the answer was lost',
    applied: true,
  },
  'answers 3 seconds later': { do: 'delay', ms: LATER_MS },
}

/** Lets the emulated driver answer the next calls of a method with a fault. */
export function injectFaults({ faults }: CsiDriver, { method, how, times }: Fault): void {
  const known = FAULTS.find((fault) => fault === how)
  if (known === undefined) throw new Error(`There is no fault "${how}".`)
  faults.add({ match: { method }, times, action: ACTIONS[known] })
}
