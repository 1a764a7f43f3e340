import { programOf } from '@csi-sidecars/sidecar'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import { attacher } from '../app.ts'

/** Runs the whole attacher in this process, from its command line on, until the signal stops it. */
export async function runAttacher(
  { kubeconfig, socket, flags = [] }: { kubeconfig: string; socket: string; flags?: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const args = [`--kubeconfig=${kubeconfig}`, `--csi-address=${socket}`, '--v=5', ...flags]
  const { ending, log } = await runInProcess(programOf(attacher), args, signal && { signal })
  if (!signal.aborted) throw new Error(`csi-attacher ended with ${JSON.stringify(ending)}:\n${log}`)
}
