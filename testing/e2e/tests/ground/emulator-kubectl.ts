import { deepStrictEqual as equal, match } from 'node:assert'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { kubectl } from '../../harness/api/kubectl.ts'
import { exitOf, start, temporaryFolder } from '../../harness/process/processes.ts'
import { check } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'

const MAIN = resolve(import.meta.dirname, '../../../../libs/emulator/src/main.ts')

const LIST = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: list-a}
  data: {size: "1"}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: list-b}
  spec:
    selector: {matchLabels: {app: b}}
    template:
      metadata: {labels: {app: b}}
      spec: {containers: [{name: main, image: none}]}
`

check('emulator: kubectl creates, applies, scales and deletes the objects of a List', 'emulator', async () => {
  const place = temporaryFolder('emulator')
  const kubeconfig = join(place, 'kubeconfig')
  const data = join(place, 'data.json')
  const file = join(place, 'list.yaml')
  writeFileSync(file, LIST)
  const child = start(process.execPath, [MAIN, `--kubeconfig-out=${kubeconfig}`, `--data=${data}`])
  await eventually('the kubeconfig', () => existsSync(kubeconfig) && readFileSync(kubeconfig, 'utf8') !== '')
  const ask = (...args: readonly string[]): Promise<string> => kubectl(kubeconfig, ...args)

  equal(await ask('apply', '--filename', file), 'configmap/list-a created\ndeployment.apps/list-b created\n')
  writeFileSync(file, LIST.replace('size: "1"', 'size: "2"'))
  const taken = 'configmap/list-a serverside-applied\ndeployment.apps/list-b serverside-applied\n'
  equal(await ask('apply', '--server-side', '--filename', file), taken)
  equal(await ask('scale', 'deployment/list-b', '--replicas=3'), 'deployment.apps/list-b scaled\n')
  match(await ask('get', '--filename', file, '--no-headers'), /configmap\/list-a +1 .*deployment.apps\/list-b +0\/3 /s)
  equal(await ask('get', 'configmap', 'list-a', '--output=jsonpath={.data.size}'), '2')
  match(await ask('delete', '--filename', file, '--wait=false'), /"list-a" deleted.*"list-b" deleted/s)

  child.kill('SIGTERM')
  equal((await exitOf(child)).code, 0)
})
