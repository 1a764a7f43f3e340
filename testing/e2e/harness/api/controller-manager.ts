import type { ChildProcess } from 'node:child_process'
import { createWriteStream, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import { controlPlaneFolder } from '../../tools/binaries.ts'
import { start } from '../process/processes.ts'

export interface ControllerManagerOptions {
  readonly kubeconfig: string
  /** The folder for the log and the certificate of kube-controller-manager. */
  readonly folder: string
  readonly controllers: readonly string[]
  readonly args?: readonly string[]
}

/** Starts a real kube-controller-manager with some of its controllers. */
export async function startControllerManager(options: ControllerManagerOptions): Promise<ChildProcess> {
  const { kubeconfig, folder, controllers, args = [] } = options
  const binary = join(controlPlaneFolder(resolve(import.meta.dirname, '../../../..')), 'kube-controller-manager')
  if (!existsSync(binary)) throw new Error(`${binary} is missing: KUBEBUILDER_ASSETS has none; Go builds it`)
  const child = start(
    binary,
    [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join()}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${await freePort()}`,
      `--cert-dir=${join(folder, 'certs')}`,
      ...args,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  child.stderr?.pipe(createWriteStream(join(folder, 'kube-controller-manager.log')))
  return child
}
