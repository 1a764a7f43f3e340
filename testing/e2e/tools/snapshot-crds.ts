import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { kubectl } from '../harness/api/kubectl.ts'

const MODULE = 'github.com/kubernetes-csi/external-snapshotter/client/v8@v8.6.0'
const CRDS: readonly (readonly [group: string, plural: string])[] = [
  ['snapshot', 'volumesnapshotclasses'],
  ['snapshot', 'volumesnapshots'],
  ['snapshot', 'volumesnapshotcontents'],
  ['groupsnapshot', 'volumegroupsnapshotclasses'],
  ['groupsnapshot', 'volumegroupsnapshots'],
  ['groupsnapshot', 'volumegroupsnapshotcontents'],
]

/** Installs the CRDs of external-snapshotter v8.7.0 on a real API server, and waits until the server serves them. */
export async function installSnapshotCrds(kubeconfig: string): Promise<void> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE])
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string }
  const files = CRDS.map(([group, plural]) => join(Dir, 'config', 'crd', `${group}.storage.k8s.io_${plural}.yaml`))
  await kubectl(kubeconfig, 'apply', ...files.map((file) => `--filename=${file}`))
  const names = CRDS.map(([group, plural]) => `crd/${plural}.${group}.storage.k8s.io`)
  await kubectl(kubeconfig, 'wait', '--for=condition=Established', ...names)
}
