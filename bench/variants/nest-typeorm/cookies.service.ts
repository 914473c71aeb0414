import { HttpException, Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { CreateCookieDto, ReplaceCookieDto } from './cookie.dto.js';
import { Cookie } from './cookie.entity.js';

const CAPACITY = Number(process.env['COOKIES_CAPACITY']);

@Injectable()
export class CookiesService {
  constructor(@InjectRepository(Cookie) private readonly cookies: Repository<Cookie>) {}

  findAll(): Promise<Cookie[]> {
    return this.cookies.find();
  }

  async findOne(id: number): Promise<Cookie> {
    const cookie = await this.cookies.findOneBy({ id });
    if (cookie === null) throw new NotFoundException(`There is no cookie ${id}`);
    return cookie;
  }

  async create(cookie: CreateCookieDto): Promise<Cookie> {
    if ((await this.cookies.count()) >= CAPACITY) throw new HttpException('Storage is full', 507);
    return this.cookies.save(this.cookies.create(cookie));
  }

  async replace(id: number, changes: ReplaceCookieDto): Promise<Cookie> {
    return this.cookies.save(this.cookies.merge(await this.findOne(id), changes));
  }

  async remove(id: number): Promise<void> {
    const { affected } = await this.cookies.delete(id);
    if (affected === 0) throw new NotFoundException(`There is no cookie ${id}`);
  }
}
