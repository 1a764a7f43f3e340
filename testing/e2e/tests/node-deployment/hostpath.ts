import { deepStrictEqual as equal } from 'node:assert'
import { join } from 'node:path'
import { ControllerService, type CreateVolumeRequest, type CreateVolumeResponse } from '@csi-sidecars/csi-proto'
import { CSI_NODES } from '@csi-sidecars/kube-types'
import { Client, credentials } from '@grpc/grpc-js'
import { csiNode } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import { stop } from '../../harness/process/processes.ts'
import { Sidecar } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { ask, GI, statusWord, untilClaim } from '../resizer/scene.ts'
import { boundOn, createNode, RULES, selecting } from './scene.ts'

/** The path of hostpathplugin from csi-driver-host-path, or empty. No Go module provides this program. */
const PLUGIN = process.env['E2E_HOSTPATH'] ?? ''
const VOLUMES_OF_EACH = 10

const test = PLUGIN === '' ? () => undefined : testsOf('resizer', 'node deployment, hostpath', { only: 'ours' })

test('three nodes with csi-driver-host-path expand their volumes, each by its own driver, once', async (t) => {
  const user = await userWith(t, RULES)
  await t.createClass()
  const plugins: Sidecar[] = []
  try {
    const sites = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const node = t.name(name)
        const socket = join(t.folder, `${name}.sock`)
        const plugin = new Sidecar({
          binary: PLUGIN,
          args: [
            `--endpoint=unix://${socket}`,
            `--nodeid=${node}`,
            `--drivername=${t.driverName}`,
            `--statedir=${join(t.folder, name)}`,
            '--v=5',
          ],
        })
        plugins.push(plugin)
        const volumes = await eventually('the driver', () => createVolumes(socket))
        const [{ key, value }] = volumes
        await createNode(t, node, { [key]: value })
        await t.create(CSI_NODES, csiNode(node, { [t.driverName]: node }, [key]))
        const args = [`--csi-address=${socket}`, '--node-deployment']
        const resizer = await t.sidecar({ args, user, env: { NODE_NAME: node } })
        await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
        return { name, plugin, volumes }
      }),
    )
    const claims = await Promise.all(
      sites.flatMap(({ name, volumes }) =>
        volumes.map(async ({ volumeHandle, key, value }, index) => {
          const parts = { suffix: `-${name}-${index}`, pv: { csi: { volumeHandle } } }
          return (await boundOn(t, selecting(key, value), parts)).pvc
        }),
      ),
    )
    for (const pvc of claims) await ask(t, '2Gi', pvc)
    // The rest is the kubelet's.
    for (const pvc of claims) await untilClaim(t, (claim) => statusWord(claim) === 'NodeResizePending', pvc)
    for (const { plugin, volumes } of sites) {
      const method = '/csi.v1.Controller/ControllerExpandVolume'
      // The plugin logs one line for a call, and a line without the volume for its answer.
      const calls = plugin.linesWith(method).filter((line) => line.includes('volume_id'))
      const seen = volumes.map(({ volumeHandle }) => calls.filter((line) => line.includes(volumeHandle)).length)
      equal([calls.length, new Set(seen)], [VOLUMES_OF_EACH, new Set([1])])
    }
  } finally {
    await Promise.all(plugins.map(({ process: child }) => stop(child)))
  }
})

interface Made {
  readonly volumeHandle: string
  /** The one segment of its topology. */
  readonly key: string
  readonly value: string
}

async function createVolumes(socket: string): Promise<readonly [Made, ...Made[]]> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure())
  try {
    const create = async (index: number): Promise<Made> => {
      const { volume } = await createVolume(client, `volume-${index}`)
      const [[key, value] = ['', '']] = Object.entries(volume?.accessibleTopology[0]?.segments ?? {})
      return { volumeHandle: volume?.volumeId ?? '', key, value }
    }
    const first = await create(0)
    const others = Array.from({ length: VOLUMES_OF_EACH - 1 }, (_, index) => create(index + 1))
    return [first, ...(await Promise.all(others))]
  } finally {
    client.close()
  }
}

function createVolume(client: Client, name: string): Promise<CreateVolumeResponse> {
  const { path, requestSerialize, responseDeserialize } = ControllerService.createVolume
  const request: CreateVolumeRequest = {
    name,
    capacityRange: { requiredBytes: BigInt(GI), limitBytes: 0n },
    volumeCapabilities: [
      {
        accessType: { $case: 'mount', value: { fsType: '', mountFlags: [], volumeMountGroup: '' } },
        accessMode: { mode: 1 },
      },
    ],
    parameters: {},
    secrets: {},
    mutableParameters: {},
    volumeContentSource: undefined,
    accessibilityRequirements: undefined,
  }
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, response) => {
      if (error !== null) reject(error)
      else if (response !== undefined) resolve(response)
    })
  })
}
