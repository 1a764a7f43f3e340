import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Guard, SecureFactory } from '../listener.ts'

/** The protection of the HTTP endpoint, as far as flags ask for it. */
export interface Security {
  /** Absent: plain HTTP. */
  readonly secure: SecureFactory | undefined
  /** Decides who is answered; undefined: all clients. The API client is only for reviews, and is created on demand. */
  guard(client: () => KubeClient): Guard | undefined
}
