import { deepStrictEqual as equal, match } from 'node:assert'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CONFORMANCE_CASES, compare, runConformance, type Server, writeRecorded } from '@csi-sidecars/conformance'
import { startCsiDriver } from '@csi-sidecars/emulator'
import type { Cluster } from '../../harness/api/cluster.ts'
import { startEmulated } from '../../harness/api/emulated.ts'
import { installSnapshotCrds } from '../../harness/api/snapshot-crds.ts'
import { kubeconfigOf } from '../../harness/context.ts'
import { runToEnd, temporaryFolder } from '../../harness/process/processes.ts'
import { type Check, check } from '../../harness/test.ts'
import { cacheFolder, isDefaultKubernetes } from '../../tools/binaries.ts'

function serverOf({ url, adminToken, alice }: Cluster): Server {
  return { url, tokens: { admin: adminToken, alice: alice.token } }
}

// Another version words some refusals in another way.
const ofItsVersion = isDefaultKubernetes() ? check : () => undefined

ofItsVersion(
  'emulator, conformance: a real server answers like the emulated one',
  'real',
  async ({ cluster, folder }) => {
    const kubeconfig = join(folder, 'admin.json')
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(cluster.url, cluster.ca, { token: cluster.adminToken })))
    await installSnapshotCrds(kubeconfig)
    const emulated = await startEmulated()
    try {
      const ours = await runConformance(serverOf(emulated), CONFORMANCE_CASES)
      const real = await runConformance(serverOf(cluster), CONFORMANCE_CASES)
      if (process.env['E2E_RECORD'] === 'true') writeRecorded(real)
      equal(compare(real, ours).join('\n'), '')
    } finally {
      await emulated.stop()
    }
  },
)

/** The CSI community's own suite, against the emulated driver on a socket. */
const sanity: Check['run'] = async ({ folder }) => {
  const binary = join(cacheFolder(resolve(import.meta.dirname, '../../../..')), 'csi-sanity')
  if (!existsSync(binary)) throw new Error(`${binary} is missing: it is built where Go is installed`)
  const place = temporaryFolder('sanity')
  const socket = join(place, 'csi.sock')
  const options = { nodes: ['node-1'], mutableParameters: [], makesTargets: true }
  const driver = await startCsiDriver({
    socket,
    ...options,
    plugin: ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE'],
  })
  const more = ['CLONE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT'] as const
  driver.settings.controller = [...driver.settings.controller, ...more]
  for (const name of ['target', 'staging']) mkdirSync(join(place, name))
  const { code, output } = await runToEnd(binary, [
    `--csi.endpoint=unix://${socket}`,
    `--csi.mountdir=${join(place, 'target', 'mount')}`,
    `--csi.stagingdir=${join(place, 'staging', 'mount')}`,
    '--ginkgo.no-color',
  ])
  writeFileSync(join(folder, 'csi-sanity.log'), output)
  await driver.stop()
  equal(code, 0, output.slice(-3000))
  match(output, /Ran [1-9]\d* of \d+ Specs/)
}

check('emulator, CSI driver: csi-sanity passes', 'emulator', sanity)
