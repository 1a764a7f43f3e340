import { programOf } from '@csi-sidecars/sidecar'
import { type Ended, runInProcess } from '@csi-sidecars/sidecar/testing'
import { snapshotter } from '../app.ts'

/**
 * The API server, the driver and further flags of a snapshotter that runs in this process. `socket` is the path of the
 * driver's socket.
 */
export interface RunOptions {
  readonly kubeconfig: string
  readonly socket: string
  readonly flags?: readonly string[]
}

/** Runs the whole snapshotter in this process, until it ends by itself or the signal aborts. */
export function snapshotterToItsEnd(
  { kubeconfig, socket, flags = [] }: RunOptions,
  signal?: AbortSignal,
): Promise<Ended> {
  return runInProcess(
    programOf(snapshotter),
    [`--kubeconfig=${kubeconfig}`, `--csi-address=${socket}`, '--v=5', ...flags],
    signal && { signal },
  )
}

/** Runs the snapshotter until the signal aborts. Throws if the snapshotter ends earlier. */
export async function runSnapshotter(options: RunOptions, signal: AbortSignal): Promise<void> {
  const { ending, log } = await snapshotterToItsEnd(options, signal)
  if (!signal.aborted) throw new Error(`csi-snapshotter ended with ${JSON.stringify(ending)}:\n${log}`)
}
