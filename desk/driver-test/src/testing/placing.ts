import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, linkSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Placing } from './contents.ts'

/** Shows contents by copied folders and linked files, which does not require root. Records the mount options. */
export function copies(): Placing & {
  readonly optionsAt: (target: string) => Promise<ReadonlySet<string> | undefined>
} {
  const placed = new Map<string, { readonly store: string; readonly options: ReadonlySet<string> }>()
  return {
    publish(store, target, { readonly, options }) {
      placed.set(target, { store, options: new Set(options) })
      if (statSync(store).isFile()) {
        rmSync(target)
        return linkSync(store, target)
      }
      cpSync(store, target, { recursive: true })
      const { mode, gid, uid } = statSync(store)
      chownSync(target, uid, gid)
      chmodSync(target, mode)
      // Root ignores file modes, so a folder with the name of the test's file prevents the write.
      if (readonly) mkdirSync(join(target, 'csi-devcluster-data-2'), { recursive: true })
    },
    unpublish(target) {
      const { store } = placed.get(target) ?? {}
      placed.delete(target)
      if (store === undefined || statSync(store).isFile()) return
      rmSync(join(target, 'csi-devcluster-data-2'), { recursive: true, force: true })
      cpSync(target, store, { recursive: true })
    },
    optionsAt: async (target) => placed.get(target)?.options,
  }
}

/** Shows contents by bind mounts, which requires root. */
export const MOUNTS: Placing = {
  publish(store, target, { readonly, options }) {
    if (!isMounted(target)) execFileSync('mount', ['--bind', store, target])
    const all = [...(readonly ? ['ro'] : []), ...options]
    if (all.length > 0) execFileSync('mount', ['-o', `remount,bind,${all.join(',')}`, target])
  },
  unpublish(target) {
    if (isMounted(target)) execFileSync('umount', [target])
  },
}

function isMounted(path: string): boolean {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  return lines.some((line) => line.split(' ')[4] === path)
}
