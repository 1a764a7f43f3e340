import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { kubectl } from './kubectl.ts'

/** The module with the CRDs of the Go original. */
const CLIENT = 'github.com/kubernetes-csi/external-snapshotter/client/v8@v8.6.0'

/** Installs the kinds of snapshots on a real API server, and waits until it serves them. */
export async function installSnapshotCrds(kubeconfig: string): Promise<void> {
  const output = execFileSync('go', ['mod', 'download', '-json', CLIENT], { encoding: 'utf8' })
  const { Dir } = JSON.parse(output) as { Dir: string }
  const folder = join(Dir, 'config', 'crd')
  const files = globSync('*.storage.k8s.io_*.yaml', { cwd: folder }).flatMap((file) => ['-f', join(folder, file)])
  await kubectl(kubeconfig, 'apply', '--server-side', ...files)
  await kubectl(kubeconfig, 'wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all')
}
