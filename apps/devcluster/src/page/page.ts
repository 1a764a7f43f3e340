import type { Clock } from '@csi-sidecars/base'
import { CancelledError } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Caches } from '../caches/caches.ts'
import { PageModel } from './model.ts'
import { startPageServer } from './server.ts'

export interface PageOptions {
  readonly caches: Caches
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  /** 0: any. */
  readonly port: number
}

/** A page that shows the cluster as it is, until it is stopped. */
export interface Page extends AsyncDisposable {
  readonly url: string
}

export async function startPage(options: PageOptions): Promise<Page> {
  const life = new AbortController()
  const model = new PageModel({ ...options, tell: (change) => server.tell(change) })
  const server = await startPageServer({ port: options.port, snapshot: () => model.snapshot() })
  const running = model.run(life.signal)
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      life.abort(new CancelledError('the page is closed'))
      await running
      await server.stop()
    },
  }
}
