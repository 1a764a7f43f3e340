import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { controlPlaneFolder } from '../../tools/binaries.ts'

const root = resolve(import.meta.dirname, '../../../..')

/** Runs the built kubectl, or the installed kubectl if none is built, and returns its output. Throws if it fails. */
export async function kubectl(kubeconfig: string, ...args: readonly string[]): Promise<string> {
  const own = join(controlPlaneFolder(root), 'kubectl')
  const { stdout } = await promisify(execFile)(existsSync(own) ? own : 'kubectl', [
    `--kubeconfig=${kubeconfig}`,
    ...args,
  ])
  return stdout
}
