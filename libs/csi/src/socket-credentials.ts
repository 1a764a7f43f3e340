import type { Socket } from 'node:net'
import { ChannelCredentials } from '@grpc/grpc-js'

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>

/**
 * No credentials, and a way to the socket of the channel that uses them. Closing a channel that waits for a peer to
 * say something leaves its socket open until the peer disconnects, so an abandoned attempt destroys it itself.
 */
export class SocketCredentials extends ChannelCredentials {
  readonly #insecure = ChannelCredentials.createInsecure()
  #socket: Socket | undefined
  #destroyed = false

  override _isSecure(): boolean {
    return false
  }

  /** Channels with equal credentials share their sockets; ours never do, so a new attempt cannot inherit a stuck one. */
  override _equals(other: ChannelCredentials): boolean {
    return other === this
  }

  override _createSecureConnector(
    ...parameters: Parameters<ChannelCredentials['_createSecureConnector']>
  ): SecureConnector {
    const connector = this.#insecure._createSecureConnector(...parameters)
    const connect = (socket: Socket): ReturnType<SecureConnector['connect']> => {
      this.#socket = socket
      if (this.#destroyed) socket.destroy()
      return connector.connect(socket)
    }
    return { ...connector, connect }
  }

  /** Of a socket that comes later too. */
  destroySocket(): void {
    this.#destroyed = true
    this.#socket?.destroy()
  }
}
