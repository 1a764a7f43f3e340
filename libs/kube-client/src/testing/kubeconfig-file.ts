import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base/testing'
import { silentLogger } from '@csi-sidecars/telemetry'
import type { ClusterConfig } from '../config/cluster-config.ts'
import { loadClusterConfig } from '../config/load.ts'

export const SERVER = 'https://10.0.0.1:6443'

/** The parts of a kubeconfig that a test sets. `top` adds or replaces fields at the top level of the document. */
export interface KubeconfigParts {
  readonly cluster?: object
  readonly user?: object
  readonly top?: object
}

/** A kubeconfig in a separate folder, together with the files that it names. */
export class KubeconfigFile {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  readonly path = join(this.folder, 'config')

  /** Writes a kubeconfig (JSON is YAML) and loads it. */
  load(
    { cluster = { server: SERVER }, user = {}, top = {} }: KubeconfigParts,
    master?: string,
    clock?: FakeClock,
  ): Promise<ClusterConfig> {
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }, { name: 'broken, but unused' }],
      users: [{ name: 'u', user }],
      ...top,
    }
    writeFileSync(this.path, JSON.stringify(document, undefined, 2))
    return this.loadFile(master, clock)
  }

  loadFile(master?: string, clock = new FakeClock()): Promise<ClusterConfig> {
    return loadClusterConfig({ kubeconfig: this.path, master, env: {}, log: silentLogger, clock })
  }

  /** Writes the exec plugin `./plugin`. */
  script(text: string): string {
    const plugin = join(this.folder, 'plugin')
    writeFileSync(plugin, `#!/bin/sh\n${text}\n`)
    chmodSync(plugin, 0o755)
    return plugin
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}
