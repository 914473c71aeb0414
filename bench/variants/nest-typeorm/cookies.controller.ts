import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  ParseIntPipe,
  Post,
  Put,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { CreateCookieDto, ReplaceCookieDto } from './cookie.dto.js';
import { CookiesService } from './cookies.service.js';

@Controller('cookies')
@UseGuards(AuthGuard('jwt'))
@UseInterceptors(ClassSerializerInterceptor)
export class CookiesController {
  constructor(private readonly cookies: CookiesService) {}

  @Get()
  findAll() {
    return this.cookies.findAll();
  }

  @Get(':id')
  findOne(@Param('id', ParseIntPipe) id: number) {
    return this.cookies.findOne(id);
  }

  @Post()
  create(@Body() cookie: CreateCookieDto) {
    return this.cookies.create(cookie);
  }

  @Put(':id')
  replace(@Param('id', ParseIntPipe) id: number, @Body() changes: ReplaceCookieDto) {
    return this.cookies.replace(id, changes);
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@Param('id', ParseIntPipe) id: number) {
    return this.cookies.remove(id);
  }
}
