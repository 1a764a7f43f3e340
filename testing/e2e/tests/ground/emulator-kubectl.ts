import { deepStrictEqual as equal, match, rejects } from 'node:assert'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { kubectl } from '../../harness/api/kubectl.ts'
import { exitOf, start, temporaryFolder } from '../../harness/process/processes.ts'
import { check } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'

const MAIN = resolve(import.meta.dirname, '../../../../libs/emulator/src/main.ts')

const FILE = `apiVersion: v1
kind: ConfigMap
metadata: {name: file-a}
data: {size: "1"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: file-b}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

const CONTENT = `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: content}
spec:
  driver: csi.example.com
  deletionPolicy: Delete
  source: {snapshotHandle: handle}
  volumeSnapshotRef: {namespace: default, name: snapshot}
`

interface Emulator {
  readonly ask: (...args: readonly string[]) => Promise<string>
  /** Writes a file that commands can name. */
  readonly file: (name: string, text: string) => string
}

/** Runs the emulator as a process. */
async function withEmulator(work: (emulator: Emulator) => Promise<void>): Promise<void> {
  const place = temporaryFolder('emulator')
  const kubeconfig = join(place, 'kubeconfig')
  const child = start(process.execPath, [MAIN, `--kubeconfig-out=${kubeconfig}`])
  await eventually('the kubeconfig', () => existsSync(kubeconfig) && readFileSync(kubeconfig, 'utf8') !== '')
  await work({
    ask: (...args) => kubectl(kubeconfig, ...args),
    file(name, text) {
      writeFileSync(join(place, name), text)
      return join(place, name)
    },
  })
  child.kill('SIGTERM')
  equal((await exitOf(child)).code, 0)
}

check('emulator: kubectl applies, reads, changes and deletes the objects of a file', 'emulator', () =>
  withEmulator(async ({ ask, file }) => {
    const objects = file('objects.yaml', FILE)
    equal(await ask('apply', '--filename', objects), 'configmap/file-a created\npersistentvolumeclaim/file-b created\n')
    file('objects.yaml', FILE.replace('size: "1"', 'size: "2"'))
    match(await ask('apply', '--filename', objects), /^configmap\/file-a configured\npersistentvolumeclaim\/file-b /)
    match(await ask('get', '--filename', objects, '--no-headers'), /configmap\/file-a +1 .*claim\/file-b +Pending /s)
    equal(await ask('get', 'configmap', 'file-a', '--output=jsonpath={.data.size}'), '2')
    match(await ask('describe', 'pvc', 'file-b'), /Name: +file-b\nNamespace: +default\n.*Status: +Pending\n/s)
    const waits = ask('wait', '--for=jsonpath={.metadata.labels.a}=b', 'pvc/file-b', '--timeout=20s')
    const watches = ask('get', 'pvc', 'file-b', '--watch', '--output=name', '--request-timeout=3s')
    await ask('patch', 'pvc', 'file-b', '--type=merge', '--patch={"metadata":{"labels":{"a":"b"}}}')
    equal(await waits, 'persistentvolumeclaim/file-b condition met\n')
    match(await watches, /^persistentvolumeclaim\/file-b\n/)
    match(await ask('delete', '--filename', objects, '--wait=false'), /"file-a" deleted.*"file-b" deleted/s)
    await rejects(ask('apply', '--server-side', '--filename', objects), /does not support server-side apply/)
    await rejects(ask('get', 'services'), /the server doesn't have a resource type "services"/)
  }),
)

check('emulator: kubectl creates, prints and explains custom resources', 'emulator', () =>
  withEmulator(async ({ ask, file }) => {
    const content = file('content.yaml', CONTENT)
    equal(await ask('create', '--filename', content), 'volumesnapshotcontent.snapshot.storage.k8s.io/content created\n')
    match(await ask('get', 'vsc'), /^NAME +READYTOUSE +RESTORESIZE +DELETIONPOLICY +DRIVER .*\ncontent +.*Delete +csi/)
    equal(await ask('delete', 'vsc', 'content'), 'volumesnapshotcontent.snapshot.storage.k8s.io "content" deleted\n')
    match(await ask('explain', 'volumesnapshotcontents.spec.source'), /snapshotHandle\s+<string>/)
    match(await ask('explain', 'pvc.spec.accessModes'), /FIELD: accessModes <\[\]string>/)
    const strict = file('strict.yaml', CONTENT.replace('snapshotHandle', 'snapshotHandel'))
    await rejects(ask('create', '--filename', strict), /unknown field "spec.source.snapshotHandel"/)
  }),
)
