import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import type { CsiDriver } from '@csi-sidecars/emulator'
import type { CHECKS } from '../../../../apps/driver-test/src/checks/checks.ts'

/** A driver with the sockets of its nodes. */
export interface WholeDriver {
  readonly controller: CsiDriver
  readonly nodes: readonly CsiDriver[]
}

/** Adds a bug to a driver. */
export type Bug = (driver: WholeDriver) => void

/** A call to a driver with a bug. */
interface Called<Q, R> {
  readonly request: Q
  /** The correct answer of the driver. */
  readonly own: () => R
  readonly driver: CsiDriver
}

/** A bug, and the promise that it breaks, as the reports of the driver test name it. */
export interface Planted {
  readonly check: keyof typeof CHECKS
  readonly put: Bug
  /** True for a bug of snapshots or of the content of volumes. */
  readonly holds?: boolean
}

export function found(check: Planted['check'], put: Bug): Planted {
  return { check, put }
}

/** A bug in an answer of the controller service. */
export function instead<Q extends object, R extends object>(
  check: Planted['check'],
  method: UnaryMethod<Q, R>,
  answer: (called: Called<Q, R>) => R,
): Planted {
  return found(check, ({ controller }) => replace(controller, method, answer))
}

/** A bug in an answer of each node. */
export function onNodes<Q extends object, R extends object>(
  check: Planted['check'],
  method: UnaryMethod<Q, R>,
  answer: (called: Called<Q, R>) => R,
): Planted {
  return found(check, ({ nodes }) => {
    for (const node of nodes) replace(node, method, answer)
  })
}

function replace<Q extends object, R extends object>(
  driver: CsiDriver,
  { path }: UnaryMethod<Q, R>,
  answer: (called: Called<Q, R>) => R,
): void {
  const method = path.slice(path.lastIndexOf('/') + 1)
  driver.script(method, (request: Q) => answer({ request, own: () => driver.own<Q, R>(method, request), driver }))
}
