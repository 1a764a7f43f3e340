import type { Socket } from 'node:net'
import { ChannelCredentials } from '@grpc/grpc-js'

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>

/**
 * Insecure credentials that give access to the socket of their channel. A closed channel keeps the socket open while it
 * waits for the peer, so an abandoned attempt destroys the socket.
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

  /** Destroys the socket, even if the channel opens it later. */
  destroySocket(): void {
    this.#destroyed = true
    this.#socket?.destroy()
  }
}
