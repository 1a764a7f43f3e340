import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { CannotRun } from '../cannot-run.ts'
import { controlPlaneProgram, hasGo } from '../programs/binaries.ts'

const root = resolve(import.meta.dirname, '../../../..')

/** Runs kubectl and returns its output. Throws if it fails. */
export async function kubectl(kubeconfig: string, ...args: readonly string[]): Promise<string> {
  const program = controlPlaneProgram(root, 'kubectl')
  const { stdout } = await promisify(execFile)(program, [`--kubeconfig=${kubeconfig}`, ...args])
  return stdout
}

/** The Go module with the CRDs of external-snapshotter. */
const CLIENT = 'github.com/kubernetes-csi/external-snapshotter/client/v8@v8.6.0'

/** Installs the CRDs of snapshots on a real API server, and waits until they are established. */
export async function installSnapshotCrds(kubeconfig: string): Promise<void> {
  if (!hasGo()) throw new CannotRun('the CRDs of snapshots come from a Go module, and this machine has no Go')
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', CLIENT])
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string }
  const folder = join(Dir, 'config', 'crd')
  const files = globSync('*.storage.k8s.io_*.yaml', { cwd: folder }).flatMap((file) => ['-f', join(folder, file)])
  await kubectl(kubeconfig, 'apply', '--server-side', ...files)
  await kubectl(kubeconfig, 'wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all')
}
