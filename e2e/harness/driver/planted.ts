import type { CsiDriver } from '@csi-sidecars/emulator'
import type { CHECKS } from '../../../apps/devcluster/src/driver-test/checks/checks.ts'

/** A driver with the sockets of its nodes. */
export interface WholeDriver {
  readonly controller: CsiDriver
  readonly nodes: readonly CsiDriver[]
}

/** Adds a bug to a driver. */
export type Bug = (driver: WholeDriver) => void

interface NodeCalled<Q> {
  readonly request: Q
  /** The correct answer of the node. */
  readonly own: () => object
  readonly node: CsiDriver
}

/** Replaces the answer of the method on each node. */
export function onNodes<Q extends object>(method: string, answer: (called: NodeCalled<Q>) => object): Bug {
  return ({ nodes }) => {
    for (const node of nodes) {
      node.script(method, (request: Q) => answer({ request, own: () => node.own<Q, object>(method, request), node }))
    }
  }
}

/** A call to a driver with a bug. */
interface Called<Q, R> {
  readonly request: Q
  /** The correct answer of the driver. */
  readonly own: () => R
  readonly driver: CsiDriver
}

/** Replaces the answer of the method. */
export function instead<Q extends object, R extends object>(method: string, answer: (called: Called<Q, R>) => R): Bug {
  return ({ controller: driver }) =>
    driver.script(method, (request: Q) => answer({ request, own: () => driver.own<Q, R>(method, request), driver }))
}

/** A bug, and the promise that it breaks, as the reports of the driver test name it. */
export interface Planted {
  readonly check: keyof typeof CHECKS
  readonly put: Bug
  /** Is in snapshots or in what volumes hold. */
  readonly holds?: boolean
}

export function found(check: Planted['check'], put: Bug): Planted {
  return { check, put }
}
