import { programOf } from '@csi-sidecars/sidecar'
import { type Ended, runInProcess } from '@csi-sidecars/sidecar/testing'
import { resizer } from '../app.ts'

/**
 * The API server, the driver and further flags of a resizer that runs in this process. `socket` is the path of the
 * driver's socket.
 */
export interface RunOptions {
  readonly kubeconfig: string
  readonly socket: string
  readonly flags?: readonly string[]
}

/** Runs the whole resizer in this process, from its command line to its end. The signal stops it. */
export function resizerToItsEnd({ kubeconfig, socket, flags = [] }: RunOptions, signal?: AbortSignal): Promise<Ended> {
  return runInProcess(
    programOf(resizer),
    [`--kubeconfig=${kubeconfig}`, `--csi-address=${socket}`, '--v=5', ...flags],
    signal && { signal },
  )
}

/** Runs the resizer until the signal stops it. An earlier end is a failure. */
export async function runResizer(options: RunOptions, signal: AbortSignal): Promise<void> {
  const { ending, log } = await resizerToItsEnd(options, signal)
  if (!signal.aborted) throw new Error(`csi-resizer ended with ${JSON.stringify(ending)}:\n${log}`)
}
