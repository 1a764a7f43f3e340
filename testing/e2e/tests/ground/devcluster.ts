import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Cluster } from '../../harness/api/cluster.ts'
import { startControllerManager } from '../../harness/api/controller-manager.ts'
import { kubeconfigOf } from '../../harness/context.ts'
import { stop } from '../../harness/process/processes.ts'
import { requireInRelease } from '../../harness/release.ts'
import { check, type Ground } from '../../harness/test.ts'
import { originals } from '../../tools/binaries.ts'
import { play, sidecarArgs } from './devcluster-process.ts'

const root = resolve(import.meta.dirname, '../../../..')
/** The originals never retry a claim that arrived before its class, or that is locked into conflicts. */
const TRIES_OF_ORIGINALS = 3

async function playOurs(folder: string, args: readonly string[]): Promise<void> {
  await play(folder, args)
}

async function playWithOriginals(folder: string, args: readonly string[]): Promise<void> {
  for (let left = TRIES_OF_ORIGINALS; ; left -= 1) {
    try {
      await play(folder, args)
      return
    } catch (error) {
      if (left === 1) throw error
    }
  }
}

/** The administrator's kubeconfig, for programs that replace parts of Kubernetes. */
function adminConfig({ url, ca, adminToken }: Cluster, folder: string): string {
  const file = join(folder, 'admin.json')
  writeFileSync(file, JSON.stringify(kubeconfigOf(url, ca, { token: adminToken })))
  return file
}

const BINARIES = [
  ['the sidecars under test', ({ executables }: Ground) => executables, playOurs],
  ['the Go originals', () => originals(root), playWithOriginals],
] as const

for (const [who, binaries, play] of BINARIES) {
  check(`embedded cluster: a volume's whole life with ${who}, emulated`, 'emulator', async (ground) => {
    await play(ground.folder, sidecarArgs(binaries(ground)))
  })

  check(
    `embedded cluster: a volume's whole life with ${who} and our controllers, on a real API server`,
    'real',
    async (ground) => {
      const { cluster, folder } = ground
      requireInRelease('volumeattributesclasses', cluster.minor)
      await play(folder, [...sidecarArgs(binaries(ground)), `--kubeconfig=${adminConfig(cluster, folder)}`])
    },
  )

  check(
    `embedded cluster: a volume's whole life with ${who} and the real kube-controller-manager`,
    'real',
    async (ground) => {
      const { cluster, folder } = ground
      requireInRelease('volumeattributesclasses', cluster.minor)
      const kubeconfig = adminConfig(cluster, folder)
      const args = ['--pvclaimbinder-sync-period=2s', '--v=2']
      const manager = await startControllerManager({ kubeconfig, folder, controllers: VOLUME_CONTROLLERS, args })
      try {
        const controllers = '--controllers=binder,volume-manager'
        await play(folder, [...sidecarArgs(binaries(ground)), `--kubeconfig=${kubeconfig}`, controllers])
      } finally {
        await stop(manager)
      }
    },
  )
}

/** The parts of Kubernetes that bind, attach, expand and protect volumes. */
const VOLUME_CONTROLLERS = [
  'persistentvolume-binder-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
]
