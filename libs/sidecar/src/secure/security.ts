import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Guard, SecureFactory } from '../http-listener.ts'

/** What stands between the HTTP endpoint and its clients, as far as flags ask for it. */
export interface Security {
  /** Absent: plain HTTP. */
  readonly secure: SecureFactory | undefined
  /** Who is answered; undefined: everybody. The client is for reviews alone, and made when they are asked for. */
  guard(client: () => KubeClient): Guard | undefined
}
