import { programOf } from '@csi-sidecars/sidecar'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import type { Cluster } from '@csi-sidecars/testkit'
import { provisioner } from '../app.ts'

/**
 * A start of the provisioner against an emulated cluster. `flags` follow the flags that name the cluster and its
 * driver.
 */
export interface ProvisionerRun {
  readonly cluster: Cluster
  readonly flags?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** Runs the whole provisioner in this process while the test runs. Returns the log. */
export async function whileProvisioning(
  { cluster, flags = [], env = {} }: ProvisionerRun,
  test: () => Promise<void>,
): Promise<string> {
  const stop = new AbortController()
  const where = ['--kubeconfig', cluster.kubeconfig, '--csi-address', cluster.driver.socket]
  const ended = runInProcess(programOf(provisioner), [...where, ...flags], { signal: stop.signal, env })
  try {
    await Promise.race([test(), ended.then(({ log }) => Promise.reject(new Error(log)))])
  } catch (cause) {
    stop.abort()
    throw new Error((await ended).log, { cause })
  } finally {
    stop.abort()
  }
  return (await ended).log
}
